// A thread that no longer answers: the node knows, starts it anew, and can be stopped all the same.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import { readConfig } from '../../src/config.ts'
import { startEngineThread } from '../../src/engine/engine-thread.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'

/** A thread that does its duty, until it is told that something was cancelled: then it spins for ever. */
const SPINNING = `
import { parentPort, workerData } from 'node:worker_threads'
const say = (message) => parentPort.postMessage(message)
const beat = setInterval(() => say({ kind: 'counters', counters: { emitted: 1, received: 0, quotaRefusals: 0 } }), 100)
parentPort.on('message', ({ kind }) => {
  if (kind === 'cancelled') for (;;) Math.random()
  if (kind !== 'stop') return
  clearInterval(beat)
  parentPort.close()
})
say({ kind: 'event', event: workerData.owner })
say({ kind: 'ready' })
`

async function startThread(t: TestContext, givenUpMs: number) {
  const file = join(await tempFolder(t), 'spinning.mjs')
  await writeFile(file, SPINNING)
  const owners: string[] = []
  const logged: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  const thread = startEngineThread({
    config: readConfig({ ESCLUSA_DATA_DIR: '/nowhere', ESCLUSA_DRAIN_SECONDS: '0' }),
    owner: 'node',
    log,
    wanted: () => {},
    heard: (event) => void owners.push(String(event)),
    worker: pathToFileURL(file),
    patience: { silentMs: 1500, givenUpMs },
  })
  closeAfter(t, () => thread.stop())
  await thread.ready
  return { thread, owners, logged }
}

const FREEZE = { kind: 'cancelled', transferId: 'x' } as const

test('a thread that spins is noticed, ended and started anew under another name', async (t) => {
  const { thread, owners, logged } = await startThread(t, 3000)
  assert.equal(thread.answers(), true)
  thread.tell(FREEZE)
  await waitFor('the silence to be noticed', () => !thread.answers())
  assert.match(logged.join(), /does not answer: not ready/)
  await waitFor('the thread to answer again', () => thread.answers())
  assert.deepEqual(owners, ['node-1', 'node-2'])
  assert.match(logged.join(), /ended and started anew/)
})

test('a thread that spins does not keep the node from stopping', async (t) => {
  const { thread } = await startThread(t, 3_600_000)
  thread.tell(FREEZE)
  await thread.stop()
})
