// The engine's throughput beside 10,000 expectations and 100 events a second that are told to a webhook, against the same
// node without them, in one run.
//
//   node bench/notify.ts [channels] [rounds]

import { randomBytes } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { openStore } from '../src/store/database/open.ts'
import { addEvent } from '../src/store/events/outbox.ts'
import { putSubscription } from '../src/store/events/subscriptions.ts'
import { putExpectations } from '../src/store/expectations/expectations.ts'
import { codeOf, TrialNode } from './trial-node.ts'

const channels = Number(process.argv[2] ?? 200)
const rounds = Number(process.argv[3] ?? 5)
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
const trial = await TrialNode.start(channels, {}, { ESCLUSA_WEBHOOK_NETWORKS: '127.0.0.0/8' })
const store = await openStore({
  dataDir: join(trial.folder, 'data'),
  databaseUrl: process.env.BENCH_DATABASE,
})
let load: NodeJS.Timeout | undefined
try {
  const bytes = randomBytes(10 * 1024)
  for (let number = 0; number < channels; number++)
    for (const name of ['a', 'b']) await writeFile(join(trial.out(number), name), bytes)
  await measure() // warm
  const quiet = await best()
  await begin()
  const busy = await best()
  const rate = (seconds: number) => (channels / seconds).toFixed(0)
  console.log(
    `${channels} transfers at once: ${rate(quiet)} a second alone, ${rate(busy)} beside ${EXPECTATIONS} expectations and ` +
      `${EVENTS_A_SECOND} events a second (${heard} heard)   ratio ${(quiet / busy).toFixed(2)}`,
  )
} finally {
  clearInterval(load)
  await store.close()
  await trial.remove()
  receiver.closeAllConnections()
  receiver.close()
}

async function measure(): Promise<number> {
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

async function best(): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) times.push(await measure())
  console.log(`  ${times.map((time) => time.toFixed(2)).join(' ')} s`)
  return Math.min(...times)
}

async function begin(): Promise<void> {
  const made = Array.from({ length: EXPECTATIONS }, (_, nth) => ({
    id: `e${nth}`,
    channel: codeOf(nth % channels),
    direction: 'EMISION' as const,
    files: `${nth}-*.txt`,
    by: '24:00',
  }))
  const settings = { webhook: { url: `http://127.0.0.1:${port}/` }, events: ['channel.updated'] }
  await store.write(async (tx) => {
    await putExpectations(tx, made)
    await putSubscription(tx, { id: 'hook', settings, secrets: '' })
  })
  for (;;) {
    const rows = await store.db
      .selectFrom('expectation')
      .select('id')
      .where('plan_at', '=', 0)
      .limit(1)
      .execute()
    if (rows.length === 0) break
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  const event = { type: 'channel.updated', data: {} } as const
  load = setInterval(
    () =>
      void store.write(async (tx) => {
        for (let nth = 0; nth < EVENTS_A_SECOND / 10; nth++)
          await addEvent(tx, { ...event, at: Date.now(), channelCode: codeOf(nth) })
      }),
    100,
  )
}
