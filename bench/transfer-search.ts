// What a search across channels costs with much more to look through: 10,000 transfers and 1,000,000, ten files each, so
// 10,000,000 files. Bar: at most 2 times.
//
//   node bench/transfer-search.ts [most transfers] [files each] [sqlite | postgres] [runs]
//
// With 0 runs it says for PostgreSQL what the searches touch, and takes no times.
//
// On SQLite, and on PostgreSQL where ESCLUSA_TEST_POSTGRES names an empty database or a server can be started. Each
// search is asked as the operation asks it, with what its page shows read too; a write of somebody else's between them
// makes SQLite forget what it remembers.

import { sql } from 'kysely'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openStore } from '../src/store/database/open.ts'
import type { OpenOptions } from '../src/store/database/open.ts'
import type { Store } from '../src/store/database/store.ts'
import { signLife } from '../src/store/transfers/signs-of-life.ts'
import { namePattern, searchTransfers } from '../src/store/transfers/transfer-search.ts'
import type { TransferFilter } from '../src/store/transfers/transfer-search.ts'
import { firstNames, summariesOf } from '../src/store/transfers/transfer-summaries.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { CHANNEL, fillPlatform, fillTransfers, FIRST_AT } from './fill.ts'
import { queriesOf, touchedBy } from './touched.ts'
import type { Touched } from './touched.ts'

const SIZES = [10_000, Number(process.argv[2] ?? 1_000_000)] as const
const FILES_EACH = Number(process.argv[3] ?? 10)
const RUNS = Number(process.argv[5] ?? 60)
const SIZE = 50
const MINUTE_MS = 60_000

/** With `last` the number of the newest transfer: what is looked for is as rare, and as old, in both sizes. */
const SEARCHES: Record<string, (last: number) => { filter: TransferFilter; page?: number }> = {
  'everything, first page': () => ({ filter: {} }),
  'everything, page 20': () => ({ filter: {}, page: 20 }),
  failed: () => ({ filter: { states: ['FAILED'] } }),
  'failed receptions: none': () => ({ filter: { states: ['FAILED'], directions: ['RECEPCION'] } }),
  'one channel': () => ({ filter: { codes: new Set([CHANNEL]) } }),
  'one day': (last) => ({
    filter: { from: FIRST_AT + (last - 3000) * MINUTE_MS, before: FIRST_AT + (last - 1560) * MINUTE_MS },
  }),
  'a whole name': () => ({ filter: { fileName: namePattern('nom00000777-3.txt*') } }),
  'beginning of a name': () => ({ filter: { fileName: namePattern('nom0000077*') } }),
  'part of a name': (last) => ({ filter: { fileName: namePattern(String(last - 20)) } }),
  hash: () => ({ filter: { hash: '00000777'.repeat(8) } }),
}

const ONLY = process.argv[4]
if (ONLY !== 'postgres') await onSqlite()
if (ONLY !== 'sqlite') await onPostgres()

async function onSqlite(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'esclusa-bench-'))
  try {
    await compare('SQLite', { dataDir: folder })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function onPostgres(): Promise<void> {
  const given = process.env.ESCLUSA_TEST_POSTGRES
  const server = given
    ? { url: given, stop: () => Promise.resolve() }
    : await startPostgres({ synced: false }).catch(() => undefined)
  if (!server) return console.log('PostgreSQL: SKIPPED, no server could be started')
  try {
    await compare('PostgreSQL', { dataDir: tmpdir(), databaseUrl: server.url })
  } finally {
    await server.stop()
  }
}

async function compare(name: string, options: OpenOptions): Promise<void> {
  const store = await openStore(options)
  try {
    await fillPlatform(store)
    const costs: Record<string, number>[] = []
    const touched: Record<string, Touched>[] = []
    let from = 0
    for (const size of SIZES) {
      const began = performance.now()
      await grow(store, from, size)
      console.error(
        `filled in ${((performance.now() - began) / 1000).toFixed(0)} s, load ${loadavg()[0]?.toFixed(1)}`,
      )
      costs.push(await measure(store, size))
      if (options.databaseUrl) touched.push(await touchedAt(store, size, options.databaseUrl))
      from = size
    }
    const [small = {}, large = {}] = costs
    console.log(
      `\n${name}: ms with ${SIZES[0]} transfers, with ${SIZES[1]} (${FILES_EACH} files each), ratio`,
    )
    for (const search of Object.keys(SEARCHES)) {
      const [a, b] = [small[search] ?? 0, large[search] ?? 0]
      const [few, many] = touched.map((all) => all[search])
      const seen =
        few && many ? `    blocks ${few.blocks}  ${many.blocks}  rows ${few.rows}  ${many.rows}` : ''
      console.log(`${search.padEnd(26)} ${a.toFixed(2)}  ${b.toFixed(2)}  ${(b / a).toFixed(2)}${seen}`)
    }
    console.log(`load ${loadavg()[0]?.toFixed(1)}`)
  } finally {
    await store.close()
  }
}

/** One transfer in fifty failed. */
async function grow(store: Store, from: number, to: number): Promise<void> {
  await fillTransfers(store, from, to, FILES_EACH)
  await store.write((tx) =>
    sql`update transfer set state = 'FAILED' where position > ${from} and position % 50 = 0`.execute(tx),
  )
  if (store.dialect.name === 'postgres') await sql`vacuum analyze`.execute(store.db)
}

async function measure(store: Store, last: number): Promise<Record<string, number>> {
  const medians: Record<string, number> = {}
  for (const [name, search] of Object.entries(SEARCHES)) {
    const { filter, page = 1 } = search(last)
    const times: number[] = []
    for (let run = 0; run < RUNS; run++) {
      await store.write((tx) => signLife(tx, 'somebody', Date.now()))
      const startedAt = performance.now()
      await ask(store, filter, page)
      times.push(performance.now() - startedAt)
    }
    medians[name] = times.sort((a, b) => a - b)[Math.floor(RUNS / 2)] ?? 0
  }
  return medians
}

async function ask(store: Store, filter: TransferFilter, page: number): Promise<void> {
  const asked = { order: 'newest', offset: (page - 1) * SIZE, size: SIZE, ahead: 9 * SIZE } as const
  const found = await searchTransfers(store.db, filter, asked)
  const ids = found.page.map(({ id }) => id)
  if (ids.length === 0) return
  await summariesOf(store.db, ids)
  await firstNames(store.db, ids, 3)
}

async function touchedAt(store: Store, last: number, databaseUrl: string): Promise<Record<string, Touched>> {
  const all: Record<string, Touched> = {}
  for (const [name, search] of Object.entries(SEARCHES)) {
    const { filter, page = 1 } = search(last)
    all[name] = await touchedBy(await queriesOf(() => ask(store, filter, page)), databaseUrl)
  }
  return all
}
