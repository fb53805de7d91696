// The engine's throughput beside 10,000 expectations and 100 events a second that are told to a webhook, against a node
// without them. The two nodes take turns, so that what else the machine does hits both alike.
//
//   node bench/notify.ts [channels] [rounds]

import { randomBytes } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { openStore } from '../src/store/database/open.ts'
import type { Store } from '../src/store/database/store.ts'
import { addEvents } from '../src/store/events/outbox.ts'
import { putSubscription } from '../src/store/events/subscriptions.ts'
import { putExpectations } from '../src/store/expectations/expectations.ts'
import { cpuMicros } from './cpu-time.ts'
import { codeOf, TrialNode } from './trial-node.ts'

const channels = Number(process.argv[2] ?? 200)
const rounds = Number(process.argv[3] ?? 10)
const EXPECTATIONS = 10_000
const EVENTS_A_SECOND = 100

let heard = 0
const receiver = createServer((request, response) => {
  heard++
  request.resume()
  response.end()
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const { port } = receiver.address() as AddressInfo
const alone = await start()
const busy = await start()
const store = await openStore({ dataDir: join(busy.folder, 'data') })
try {
  await expectMuch(store)
  await measure(alone) // warm
  await measure(busy)
  const ratios: number[] = []
  const cpu = { alone: 0, busy: 0 }
  for (let round = 0; round < rounds; round++) {
    const before = { alone: cpuMicros(alone.node.pid), busy: cpuMicros(busy.node.pid) }
    const quiet = await measure(alone)
    cpu.alone += cpuMicros(alone.node.pid) - before.alone
    const load = setInterval(() => void tell(store), 100)
    const loaded = await measure(busy)
    clearInterval(load)
    cpu.busy += cpuMicros(busy.node.pid) - before.busy
    ratios.push(quiet / loaded)
    const rate = (seconds: number) => (channels / seconds).toFixed(0)
    console.log(
      `  round ${round + 1}: ${rate(quiet)} transfers a second alone, ${rate(loaded)} beside them   ratio ${(quiet / loaded).toFixed(2)}`,
    )
  }
  const middle = ratios.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0
  console.log(
    `${channels} transfers at once beside ${EXPECTATIONS} expectations and ${EVENTS_A_SECOND} events a second ` +
      `(${heard} heard): median ratio ${middle.toFixed(2)}, by processor time ${(cpu.alone / cpu.busy).toFixed(2)}`,
  )
} finally {
  await store.close()
  await alone.remove()
  await busy.remove()
  receiver.closeAllConnections()
  receiver.close()
}

async function start(): Promise<TrialNode> {
  const trial = await TrialNode.start(channels, {}, { ESCLUSA_WEBHOOK_NETWORKS: '127.0.0.0/8' })
  const bytes = randomBytes(10 * 1024)
  for (let number = 0; number < channels; number++)
    for (const name of ['a', 'b']) await writeFile(join(trial.out(number), name), bytes)
  return trial
}

async function measure(trial: TrialNode): Promise<number> {
  const startedAt = performance.now()
  const ended = trial.ended(channels)
  for (let number = 0; number < channels; number += 50)
    await Promise.all(
      Array.from({ length: Math.min(50, channels - number) }, (_, index) => trial.send(number + index)),
    )
  await ended
  const seconds = (performance.now() - startedAt) / 1000
  // The partner takes its files, so that the next round finds the names free.
  for (let number = 0; number < channels; number++)
    for (const name of await readdir(trial.inbox(number))) await rm(join(trial.inbox(number), name))
  return seconds
}

async function expectMuch({ db, write }: Store): Promise<void> {
  const made = Array.from({ length: EXPECTATIONS }, (_, nth) => ({
    id: `e${nth}`,
    channel: codeOf(nth % channels),
    direction: 'EMISION' as const,
    files: `${nth}-*.txt`,
    by: '24:00',
  }))
  const settings = { webhook: { url: `http://127.0.0.1:${port}/` }, events: ['channel.updated'] }
  await write(async (tx) => {
    await putExpectations(tx, made)
    await putSubscription(tx, { id: 'hook', settings, secrets: '' })
  })
  const unplanned = db.selectFrom('expectation').select('id').where('plan_at', '=', 0).limit(1)
  while ((await unplanned.execute()).length > 0) await new Promise((resolve) => setTimeout(resolve, 200))
}

function tell({ write }: Store): Promise<void> {
  const events = Array.from({ length: EVENTS_A_SECOND / 10 }, (_, nth) => ({
    type: 'channel.updated' as const,
    data: {},
    at: Date.now(),
    channelCode: codeOf(nth),
  }))
  return write((tx) => addEvents(tx, events))
}
