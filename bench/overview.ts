// Whether the console's reads stay flat: what each of its pages reads is timed on a small platform (100 channels with ten
// partners, 10,000 transfers) and on a large one (10,000 with 1,000, and 1,000,000), through the whole HTTP layer and in
// turns. The ratios are printed, of the fastest tenth and of the medians: other work on the machine makes some reads slower
// and none faster, so the fastest tenth says what a read costs. Bar: at most 2 times.
//
//   node bench/overview.ts [channels] [transfers] [files each] [runs] [sqlite | postgres]
//
// On SQLite, and on PostgreSQL where ESCLUSA_TEST_POSTGRES names a server or one can be started. PostgreSQL also says how many
// rows and blocks each page's queries touch, which no load changes; with 0 runs it says that alone.

import { sql } from 'kysely'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Client } from 'pg'
import { pino } from 'pino'
import { makeLimiter } from '../src/accounts/limiter.ts'
import { generateSelfSigned } from '../src/engine/transforms/cms/self-signed.ts'
import { makeAuditTrail } from '../src/audit/trail.ts'
import { makeTokens } from '../src/accounts/token.ts'
import { zoneOf } from '../src/domain/time.ts'
import type { Context } from '../src/http/context.ts'
import { buildServer } from '../src/http/server.ts'
import { makeNoteUse } from '../src/http/note-use.ts'
import { noteSessionSeen } from '../src/store/sessions.ts'
import { noteTokenUse } from '../src/store/tokens.ts'
import { findAccount } from '../src/store/accounts.ts'
import { channelAccessChanged, makeChannelAccess } from '../src/store/channel-access.ts'
import { putContact } from '../src/store/contacts.ts'
import { recountEnded } from '../src/store/transfers/transfer-stats.ts'
import { openStore } from '../src/store/database/open.ts'
import type { OpenOptions } from '../src/store/database/open.ts'
import type { Store } from '../src/store/database/store.ts'
import { makeSeal } from '../src/store/seal.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { contactOf } from '../test/support/seed.ts'
import { queriesOf, touchedBy } from './touched.ts'
import type { Touched } from './touched.ts'
import { CHANNEL, fillChannels, fillPlatform, fillTransfers, FIRST_AT } from './fill.ts'

const RUNS = Number(process.argv[5] ?? 300)
const SMALL = { channels: 100, transfers: 10_000 }
const LARGE = { channels: Number(process.argv[2] ?? 10_000), transfers: Number(process.argv[3] ?? 1_000_000) }
const FILES_EACH = Number(process.argv[4] ?? 1)
const CHANNELS_EACH = 10
const MINUTE_MS = 60_000
/** The first read fills what a node keeps of channels. */
const WARM_UP = 3

const PLATFORM = '/platform/v1'
const INTERFACE = '/integration/v2'
const OF_CHANNEL = `${INTERFACE}/channels/${CHANNEL}`

const QUERIES = {
  session: `${PLATFORM}/session`,
  overview: `${PLATFORM}/overview`,
  'channels, first page': `${PLATFORM}/channels?size=25`,
  'channels, last page': `${PLATFORM}/channels?size=25&page=4`,
  'channels, search': `${PLATFORM}/channels?size=25&search=a0000`,
  'channels in error': `${PLATFORM}/channels?size=25&status=ERROR`,
  'channels idle': `${PLATFORM}/channels?size=25&status=IDLE`,
  'channels, one partner': `${PLATFORM}/channels?size=25&contactId=partner000001`,
  'channel: status': `${OF_CHANNEL}/status`,
  'channel: configuration': `${OF_CHANNEL}/configuration`,
  'channel: what is around it': `${PLATFORM}/channels/${CHANNEL}`,
  'channel: transfers': `${OF_CHANNEL}/transfers?size=20`,
  'channel: history': `${OF_CHANNEL}/history?size=20`,
  'channel: what a send takes': `${PLATFORM}/channels/${CHANNEL}/send-preview`,
  'one transfer': `${OF_CHANNEL}/transfers/01900000-0000-7000-8000-000000000050`,
  'one transfer: its facts': `${PLATFORM}/channels/${CHANNEL}/transfers/01900000-0000-7000-8000-000000000050`,
  'all transfers': `${PLATFORM}/transfers?size=25`,
  'all transfers, page 20': `${PLATFORM}/transfers?size=25&page=20`,
  'all transfers, failed': `${PLATFORM}/transfers?size=25&status=FAILED`,
  'all transfers, a file': `${PLATFORM}/transfers?size=25&fileName=nom0000077*`,
  'all transfers, channels': `${PLATFORM}/transfers?size=25&channels=nomina`,
  failures: `${PLATFORM}/failed-transfers?size=25`,
  'failures, search': `${PLATFORM}/failed-transfers?size=25&search=connection`,
  quarantine: `${PLATFORM}/quarantine?size=25`,
  keys: `${PLATFORM}/keys?size=25`,
  'proposed keys': `${PLATFORM}/proposed-keys`,
  contacts: `${INTERFACE}/contacts?size=10`,
  users: `${PLATFORM}/users?size=25`,
  'local entities': `${PLATFORM}/local-entities?size=25`,
  partners: `${PLATFORM}/contacts?size=25`,
  'partners, search': `${PLATFORM}/contacts?size=25&search=partner00000`,
  'one partner': `${PLATFORM}/contacts/partner000001`,
  calendars: `${PLATFORM}/calendars`,
  subscriptions: `${PLATFORM}/subscriptions`,
  expectations: `${PLATFORM}/expectation-rules`,
  tokens: `${PLATFORM}/tokens`,
  'audit trail': `${PLATFORM}/audit?size=25`,
  'own sessions': `${PLATFORM}/account/sessions`,
}

const ONLY = process.argv[6]
if (ONLY !== 'postgres') await onSqlite()
if (ONLY !== 'sqlite') await onPostgres()

async function onSqlite(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'esclusa-bench-'))
  const places = ['small', 'large'].map((name) => ({ dataDir: join(folder, name) }))
  try {
    for (const { dataDir } of places) await mkdir(dataDir)
    await compare('SQLite', places)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function onPostgres(): Promise<void> {
  const given = process.env.ESCLUSA_TEST_POSTGRES
  const server = given ? undefined : await startPostgres().catch(() => undefined)
  const databaseUrl = given ?? server?.url
  if (!databaseUrl) return console.log('PostgreSQL: SKIPPED, no server could be started')
  const names = ['esclusa_bench_small', 'esclusa_bench_large']
  const places = names.map((name) => ({
    dataDir: '',
    databaseUrl: Object.assign(new URL(databaseUrl), { pathname: `/${name}` }).href,
  }))
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    for (const name of names) await client.query(`create database ${name}`)
    await compare('PostgreSQL', places)
  } finally {
    for (const name of names) await client.query(`drop database if exists ${name} with (force)`)
    await client.end()
    await server?.stop()
  }
}

/** Both are asked in turns, so that whatever else the machine does falls on both. */
async function compare(database: string, places: readonly OpenOptions[]): Promise<void> {
  const stores: Store[] = []
  try {
    const apps: App[] = []
    for (const [index, options] of places.entries()) {
      const size = index === 0 ? SMALL : LARGE
      const store = await openStore(options)
      stores.push(store)
      const startedAt = performance.now()
      await fillPlatform(store)
      await fill(store, size)
      console.error(`filled in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
      apps.push(await prepare(store, size.transfers))
    }
    const [fewer, more] = [SMALL, LARGE].map(
      ({ channels, transfers }) => `${channels} channels / ${transfers} transfers`,
    )
    console.log(`${database}: ms with ${fewer}, with ${more}, ratio: of the fastest tenth, then medians`)
    if (RUNS > 0)
      for (const [name, path] of Object.entries(QUERIES)) console.log(await timed(apps, name, path))
    if (stores.every(({ dialect }) => dialect.name === 'postgres')) {
      console.log(`${database}: blocks touched with ${fewer}, with ${more}; rows likewise`)
      for (const [name, path] of Object.entries(QUERIES)) console.log(await touched(apps, places, name, path))
    }
    for (const { app } of apps) await app.close()
  } finally {
    for (const store of stores) await store.close()
  }
}

async function timed(apps: readonly App[], name: string, path: string): Promise<string> {
  const times = apps.map((): number[] => [])
  for (let run = -WARM_UP; run < RUNS; run++)
    for (const [index, { app, headers }] of apps.entries()) {
      const startedAt = performance.now()
      const answer = await app.inject({ url: `/connect-back${path}`, headers })
      if (run >= 0) times[index]?.push(performance.now() - startedAt)
      if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.body}`)
    }
  for (const some of times) some.sort((a, b) => a - b)
  const figures = [0.1, 0.5].map((part) => {
    const [few = 0, many = 0] = times.map((some) => some[Math.floor(RUNS * part)] ?? 0)
    return `${few.toFixed(3)}  ${many.toFixed(3)}  ${(many / few).toFixed(2)}`
  })
  return `${name.padEnd(28)} ${figures.join('    ')}`
}

/** Every query that the page asks, explained with the values that it asked with. */
async function touched(
  apps: readonly App[],
  places: readonly OpenOptions[],
  name: string,
  path: string,
): Promise<string> {
  const sums: Touched[] = []
  for (const [index, { app, headers }] of apps.entries()) {
    // What a node keeps is there by the second time.
    await app.inject({ url: `/connect-back${path}`, headers })
    const asked = await queriesOf(() => app.inject({ url: `/connect-back${path}`, headers }))
    const sum = await touchedBy(asked, places[index]?.databaseUrl)
    sums.push(sum)
  }
  const figures = (['blocks', 'rows'] as const).map((what) => sums.map((sum) => sum[what]).join('  '))
  return `${name.padEnd(28)} ${figures.join('    ')}`
}

type Size = { channels: number; transfers: number }
type App = { app: ReturnType<typeof buildServer>; headers: Record<string, string> }

/** One transfer in fifty failed; the counters are made anew, as the bulk rows did not pass through the store. */
async function fill(store: Store, { channels, transfers }: Size): Promise<void> {
  await fillChannels(store, 0, channels)
  await spread(store, channels / CHANNELS_EACH)
  await fillTransfers(store, 0, transfers, FILES_EACH)
  await analyze(store)
  await store.write(async (tx) => {
    await sql`update transfer set state = 'FAILED', error = 'no connection', error_code = 'connect_failed'
      where position % 50 = 0`.execute(tx)
    await recountEnded(tx)
  })
  await analyze(store)
}

/** A partner for every few channels. */
async function spread(store: Store, partners: number): Promise<void> {
  await store.write(async (tx) => {
    for (let number = 1; number <= partners; number++)
      await putContact(tx, contactOf(partner(number), `P${String(number).padStart(6, '0')}`, []))
    for (let number = 1; number <= partners; number++)
      await tx
        .updateTable('channel')
        .set({ contact_id: partner(number) })
        .where('code', '>=', `BANCO-ACME-A${String((number - 1) * CHANNELS_EACH).padStart(6, '0')}`)
        .where('code', '<', `BANCO-ACME-A${String(number * CHANNELS_EACH).padStart(6, '0')}`)
        .execute()
    await channelAccessChanged(tx)
  })
}

function partner(number: number): string {
  return `partner${String(number).padStart(6, '0')}`
}

/** As autovacuum would, in its time. */
async function analyze({ db, dialect }: Store): Promise<void> {
  if (dialect.name === 'postgres') await sql`vacuum analyze`.execute(db)
}

async function prepare(store: Store, transfers: number): Promise<App> {
  // The clock stands just after the last transfer: the last day is full in both sizes.
  const now = FIRST_AT + (transfers + 2) * MINUTE_MS
  const context: Context = {
    store,
    seal: makeSeal('0'.repeat(32)),
    tokens: makeTokens('0'.repeat(64)),
    limiter: makeLimiter(store),
    tokenUsed: makeNoteUse(store, noteTokenUse),
    sessionSeen: makeNoteUse(store, noteSessionSeen),
    audit: makeAuditTrail('0'.repeat(32), 'bench', Date.now),
    channelAccess: makeChannelAccess(),
    generateKey: generateSelfSigned,
    testContact: () => Promise.reject(new Error('no partner is called here')),
    zone: zoneOf('UTC'),
    roots: { fileRoots: ['/srv/files'], scriptRoots: [] },
    maxPageSize: 1000,
    uploads: { mostOctets: 0, quotaOctets: 0, quotaFiles: 0, diskReserveOctets: 0 },
    dataDir: '/nowhere',
    now: () => now,
    wake: () => {},
  }
  const app = buildServer(context, { log: pino({ level: 'silent' }) })
  const account = await findAccount(store.db, 'globaladmin')
  if (!account) throw new Error('fillPlatform makes this account')
  // Good by this clock and by the real one.
  const { token } = context.tokens.make(account, Date.now(), 10 * 365 * 86_400)
  const headers = { authorization: `Bearer ${token}` }
  return { app, headers }
}
