// What requests cost while a node takes a million old transfers away: p99 of a status and of a page of transfers, asked one
// after the other, against the same node when it keeps everything, in turns (bar: at most 2 times, median of the rounds).
// On both databases.
//
//   node bench/retention.ts [transfers] [seconds] [sqlite | postgres]
//
// seconds: how long each turn is; 0: one turn, until all have gone

import { sql } from 'kysely'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { BASE_PATH } from '../src/contract/operations.ts'
import { openStore } from '../src/store/database/open.ts'
import type { Store } from '../src/store/database/store.ts'
import { NodeProcess, esclusa } from '../test/crash/node-process.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { CHANNEL, fillPlatform, fillTransfers, nodeSettings } from './fill.ts'

const TRANSFERS = Number(process.argv[2] ?? 1_000_000)
const SECONDS = Number(process.argv[3] ?? 30)
const ROUNDS = SECONDS === 0 ? 1 : 3
const IDLE_SECONDS = SECONDS || 30
const DAY_MS = 86_400_000

const only = process.argv[4]
if (only !== 'postgres') await measure('SQLite')
if (only === 'sqlite') process.exit()
const postgres = await startPostgres().catch(() => undefined)
try {
  if (postgres) await measure('PostgreSQL', postgres.url)
  else console.log('PostgreSQL: SKIPPED, no server could be started')
} finally {
  await postgres?.stop()
}

async function measure(what: string, databaseUrl?: string): Promise<void> {
  const dataDir = await mkdtemp(join(process.env.ESCLUSA_BENCH_DIR ?? tmpdir(), 'esclusa-bench-'))
  const store = await openStore({ dataDir, databaseUrl })
  try {
    await fill(store)
    const settings = nodeSettings(dataDir, databaseUrl)
    const token = (await esclusa(settings, 'token', 'create', '--user', 'globaladmin')).trim()
    const ratios: number[] = []
    for (let round = 0; round < ROUNDS; round++) ratios.push(await turns(what, store, settings, token))
    console.log(`${what}: p99 ${median(ratios).toFixed(2)} times idle (bar 2)`)
  } finally {
    await store.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function turns(
  what: string,
  store: Store,
  settings: Record<string, string>,
  token: string,
): Promise<number> {
  const idle = await withNode(settings, (url) => times(url, token, () => false, IDLE_SECONDS))
  // Nothing was to be done; that is not to keep the next node from it for an hour.
  await store.write((tx) => tx.deleteFrom('upkeep_task').execute())
  const before = await left(store)
  const began = performance.now()
  const busy = await withNode({ ...settings, ESCLUSA_KEEP_TRANSFERS_DAYS: '1' }, (url) =>
    times(url, token, async () => (await left(store)) === 0, SECONDS || Number.POSITIVE_INFINITY),
  )
  const gone = before - (await left(store))
  const seconds = (performance.now() - began) / 1000
  if (gone === 0) throw new Error('nothing was taken away')
  const ratio = p99(busy) / p99(idle)
  console.log(
    `${what.padEnd(11)} ${before} transfers, ${gone} gone in ${seconds.toFixed(0)} s (${(gone / seconds).toFixed(0)} a second)  ` +
      `p50 ${median(idle).toFixed(1)} and ${median(busy).toFixed(1)} ms, p99 ${p99(idle).toFixed(1)} ms idle, ${p99(busy).toFixed(1)} ms meanwhile: ` +
      `${ratio.toFixed(2)}  load ${loadavg()[0]?.toFixed(1)}`,
  )
  return ratio
}

/** All of them ended longer ago than anybody keeps. */
async function fill(store: Store): Promise<void> {
  await fillPlatform(store)
  await fillTransfers(store, 0, TRANSFERS)
  const back = 3000 * DAY_MS
  await store.write((tx) =>
    sql`update transfer set requested_at = requested_at - ${back}, started_at = started_at - ${back},
      ended_at = ended_at - ${back}, listed_at = listed_at - ${back}`.execute(tx),
  )
}

async function left(store: Store): Promise<number> {
  const { count } = await store.db
    .selectFrom('transfer')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

async function withNode<T>(settings: Record<string, string>, run: (url: string) => Promise<T>): Promise<T> {
  const node = await NodeProcess.start(settings)
  try {
    return await run(node.url)
  } finally {
    await node.stop()
  }
}

/** Milliseconds of each request; whether it is over is looked at now and then. */
async function times(
  url: string,
  token: string,
  isOver: () => boolean | Promise<boolean>,
  seconds: number,
): Promise<number[]> {
  const taken: number[] = []
  const until = performance.now() + seconds * 1000
  const headers = { authorization: `Bearer ${token}` }
  const paths = ['status', 'transfers?page=1&size=20']
  for (let nth = 0; performance.now() < until; nth++) {
    const began = performance.now()
    const response = await fetch(
      `${url}${BASE_PATH}/integration/v2/channels/${CHANNEL}/${paths[nth % paths.length]}`,
      { headers },
    )
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`answered with ${response.status}`)
    taken.push(performance.now() - began)
    if (nth % 5000 === 4999 && (await isOver())) break
  }
  // The first ones warm the node up.
  return taken.slice(Math.floor(taken.length / 10))
}

function p99(taken: readonly number[]): number {
  return part(taken, 0.99)
}

function median(taken: readonly number[]): number {
  return part(taken, 0.5)
}

function part(taken: readonly number[], share: number): number {
  return taken.toSorted((a, b) => a - b)[Math.floor(taken.length * share)] ?? Number.NaN
}
