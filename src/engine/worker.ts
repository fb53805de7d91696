// The engine in a thread of its own: hashing, translating, encrypting and moving bytes must not slow the API. This file
// is the thread; engine-thread.ts is its handle on the HTTP side.

import { parentPort, workerData } from 'node:worker_threads'
import { noteReader, readMasterKey } from '../files/secrets.ts'
import { measureLag } from '../event-loop-lag.ts'
import { makeLog } from '../log.ts'
import { nodeDeadlines, openStore } from '../store/database/open.ts'
import { makeSeal } from '../store/seal.ts'
import { livingOwners } from '../store/transfers/signs-of-life.ts'
import { startNodeUpkeep } from '../upkeep/node-upkeep.ts'
import { startEngine } from './engine.ts'
import type { Engine } from './engine.ts'
import type { FromEngine, ThreadData, ToEngine } from './thread-messages.ts'
import { poolStepsBack } from '../thread-priority.ts'

const { config, owner } = workerData as ThreadData // given by engine-thread.ts alone
if (!parentPort) throw new Error('the engine thread is started by the node')
const port = parentPort
const say = (message: FromEngine) => port.postMessage(message)

const log = makeLog(config.logLevel, owner)
const store = await openStore({ ...config, deadlines: nodeDeadlines(config) })
const master = readMasterKey(config)
const seal = makeSeal(master)
// Before the first sign of life: whoever exchanges a key asks each node at work whether it hears of that.
const reader = noteReader(config, owner, await livingOwners(store.db, Date.now()))
const engine = await startEngine({
  config,
  store,
  seal,
  log,
  owner,
  publish: (event) => say({ kind: 'event', event }),
  askNodes: (channelCode) => say({ kind: 'channel wanted', channelCode }),
})
const upkeep = startNodeUpkeep({ config, store, seal, master, log, owner, now: Date.now })
poolStepsBack()
// Also how the node knows that this thread still answers.
const meter = measureLag()
const count = () => say({ kind: 'counters', counters: { ...engine.counters }, lag: meter.read() })
const counting = setInterval(count, 1000)

port.on('message', (message: ToEngine) => void heard(message, engine))
say({ kind: 'ready' })

async function heard(message: ToEngine, engine: Engine): Promise<void> {
  if (message.kind === 'wake') engine.wake()
  if (message.kind === 'cancelled') engine.cancel(message.transferId)
  if (message.kind === 'channel wanted') engine.letGo(message.channelCode)
  if (message.kind === 'channel free') engine.freed(message.channelCode)
  if (message.kind !== 'stop') return
  await upkeep.stop()
  await engine.stop()
  reader.remove()
  clearInterval(counting)
  await store.close()
  count()
  meter.stop()
  log.flush()
  say({ kind: 'stopped' })
  port.close()
}
