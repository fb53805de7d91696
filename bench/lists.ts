// What lists cost with much more in them: the first page, a page of one day and a page in the middle (20 items each),
// with 1,000 and with 1,000,000 transfers in one channel, and with 1,000 and 10,000 channels. Bar: at most 2 times.
//
//   node bench/lists.ts [most transfers] [most channels]
//
// Runs on SQLite, and on PostgreSQL where ESCLUSA_TEST_POSTGRES names a server or one can be started. The queries are
// called as the operations call them. Before each one somebody else writes to the database, as the engine of a busy node
// does: an answer that the store remembers until then (SQLite) is asked for anew.

import { sql } from 'kysely'
import { Client } from 'pg'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { findChannels, pageOfHistory } from '../src/store/channels.ts'
import { makeChannelAccess } from '../src/store/channel-access.ts'
import { openStore } from '../src/store/database/open.ts'
import type { Store } from '../src/store/database/store.ts'
import { signLife } from '../src/store/transfers/signs-of-life.ts'
import { pageOfTransfers } from '../src/store/transfers/transfer-pages.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { accountOf } from '../test/support/seed.ts'
import { CHANNEL, fillChannels, fillPlatform, fillTransfers, FIRST_AT } from './fill.ts'

const TRANSFERS = [1000, Number(process.argv[2] ?? 1_000_000)] as const
const CHANNELS = [1000, Number(process.argv[3] ?? 10_000)] as const
const SIZE = 20
const ROUNDS = 400
const PAGES = 20
const DAY_MS = 86_400_000

type Costs = Record<string, number>
type Change = () => Promise<void>

await onSqlite()
await onPostgres()

async function onSqlite(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'esclusa-bench-'))
  try {
    const store = await openStore({ dataDir: folder })
    const other = await openStore({ dataDir: folder })
    await sql`pragma synchronous = off`.execute(other.db)
    await compare('SQLite', store, () => other.write((tx) => signLife(tx, 'somebody', Date.now())))
    await other.close()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function onPostgres(): Promise<void> {
  const given = process.env.ESCLUSA_TEST_POSTGRES
  const server = given
    ? { url: given, stop: () => Promise.resolve() }
    : await startPostgres().catch(() => undefined)
  if (!server) return console.log('PostgreSQL: SKIPPED, no server could be started')
  const name = `bench_${process.pid}`
  const url = new URL(server.url)
  url.pathname = `/${name}`
  await statement(server.url, `create database ${name}`)
  try {
    const store = await openStore({ dataDir: '', databaseUrl: url.href })
    await compare('PostgreSQL', store, () => Promise.resolve(), url.href)
  } finally {
    await statement(server.url, `drop database ${name} with (force)`)
    await server.stop()
  }
}

async function statement(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(sql)
  await client.end()
}

async function compare(name: string, store: Store, change: Change, url?: string): Promise<void> {
  try {
    await fillPlatform(store)
    const small = await measureAt(store, change, 0, TRANSFERS[0], 0, CHANNELS[0], url)
    const big = await measureAt(store, change, TRANSFERS[0], TRANSFERS[1], CHANNELS[0], CHANNELS[1], url)
    console.log(`${name}: median of ${ROUNDS} calls, ${SIZE} items a page`)
    for (const [what, cost] of Object.entries(small)) {
      const many = big[what] ?? Number.NaN
      console.log(
        `  ${what.padEnd(34)} ${cost.toFixed(3)} ms -> ${many.toFixed(3)} ms   ratio ${(many / cost).toFixed(2)} (bar: at most 2)`,
      )
    }
  } finally {
    await store.close()
  }
}

async function measureAt(
  store: Store,
  change: Change,
  from: number,
  to: number,
  channelsFrom: number,
  channelsTo: number,
  url?: string,
): Promise<Costs> {
  await fillTransfers(store, from, to)
  await fillChannels(store, channelsFrom, channelsTo)
  // A fresh bulk load has no statistics yet; a server that runs gathers them by itself.
  if (url) await statement(url, 'vacuum analyze')
  const middle = Math.floor(to / 2)
  // Days in the middle of what is there; the smaller size has less than one, so its day is cut short alike.
  const day = (index: number) =>
    FIRST_AT + (Math.floor((middle * 60_000) / DAY_MS) - (to > 100_000 ? index : 0)) * DAY_MS
  const page = (asked: { offset: number; from?: number; before?: number }, total?: number) => async () => {
    const answer = await pageOfTransfers(store.db, CHANNEL, { size: SIZE, ...asked })
    if (answer.total !== (total ?? answer.total) || answer.transfers.length !== SIZE)
      throw new Error(`wrong page: ${answer.total}`)
  }
  const directory = makeChannelAccess()
  const channels = (offset: (codes: number) => number) => async () => {
    const view = await directory(store.db, accountOf('globaladmin', null))
    if (view.codes.length !== channelsTo + 1) throw new Error(`wrong total: ${view.codes.length}`)
    const at = offset(view.codes.length)
    await findChannels(store.db, view.codes.slice(at, at + SIZE))
  }
  return {
    'transfers, first page': await median(change, () => page({ offset: 0 }, to)()),
    'transfers, page of one day': await median(change, (round) =>
      page({ offset: 0, from: day(round % PAGES), before: day(round % PAGES) + DAY_MS })(),
    ),
    'transfers, page in the middle': await median(change, (round) =>
      page({ offset: middle + (round % PAGES) * SIZE }, to)(),
    ),
    'channels, first page': await median(change, () => channels(() => 0)()),
    'channels, page in the middle': await median(change, (round) =>
      channels((codes) => Math.floor(codes / 2) + (round % PAGES) * SIZE)(),
    ),
    'history, first page': await median(
      change,
      async () => void (await pageOfHistory(store.db, CHANNEL, { offset: 0, size: SIZE })),
    ),
  }
}

/** The least of three medians: other work on the machine only ever adds. */
async function median(change: Change, call: (round: number) => Promise<void>): Promise<number> {
  for (let round = 0; round < PAGES * 2; round++) await call(round)
  const medians: number[] = []
  for (let repeat = 0; repeat < 3; repeat++) {
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await change()
      const from = performance.now()
      await call(round)
      times.push(performance.now() - from)
    }
    medians.push(times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0)
  }
  return Math.min(...medians)
}
