// PostgreSQL over lines that die without a word, as at a failover or behind a firewall that has forgotten them: a port in
// front of the server stops passing octets on the connections that are open, and new ones work.

import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { closeAfter, postgres, tempFolder, waitFor } from '../../../test/support/harness.ts'
import { startTcpLine } from '../../../test/support/tcp-line.ts'
import { NodeError } from '../../errors.ts'
import { hot } from './prepared-queries.ts'
import { lockMigrations } from './migrate.ts'
import { connectTo, openStore } from './open.ts'
import type { Db } from './store.ts'

const { skip = false } = postgres
const options = { skip, timeout: 120_000 }
const DEADLINES = { ordinaryMs: 1000, urgentMs: 500 }

async function serverBehindLine(t: TestContext) {
  const dataDir = await tempFolder(t)
  const databaseUrl = new URL((await postgres.create(t, dataDir)) ?? '')
  const port = Number(databaseUrl.port)
  const line = await startTcpLine(
    () => port,
    (near, far) => {
      near.pipe(far)
      far.pipe(near)
    },
  )
  closeAfter(t, () => line.stop())
  databaseUrl.hostname = '127.0.0.1'
  databaseUrl.port = String(line.port)
  return {
    dataDir,
    databaseUrl: databaseUrl.href,
    /** Neither octets nor ends of connections come through any more. */
    die: () => {
      for (const socket of line.open) socket.unpipe().pause()
    },
  }
}

async function storeBehindLine(t: TestContext) {
  const { die, ...parts } = await serverBehindLine(t)
  const store = await connectTo({ ...parts, deadlines: DEADLINES })
  closeAfter(t, () => store.close())
  return { store, die }
}

function isUnavailable(thrown: unknown): boolean {
  return thrown instanceof NodeError && thrown.code === 'unavailable'
}

async function backendOf(db: Db): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  return rows[0]?.pid ?? 0
}

const named = hot<{ name: string }, { value: string }>((db, arg) =>
  db.selectFrom('meta').select('value').where('name', '=', arg('name')),
)

test('what waits for an answer on a dead line fails, and what comes next is answered', options, async (t) => {
  const { store, die } = await storeBehindLine(t)
  const asking = [
    () => store.write((tx) => backendOf(tx)),
    () => backendOf(store.db),
    async () => named(store.db, { name: 'none' }),
    () => store.urgent.write((tx) => backendOf(tx)),
    async () => named(store.urgent.db, { name: 'none' }),
  ]
  // In the middle of a transaction, too.
  const begun = Promise.withResolvers<void>()
  const dead = Promise.withResolvers<void>()
  const write = store.write(async (tx) => {
    await backendOf(tx)
    begun.resolve()
    await dead.promise
    await Promise.all([named(tx, { name: 'a' }), named(tx, { name: 'b' })])
  })
  await Promise.all([...asking.map((ask) => ask()), begun.promise])
  die()
  dead.resolve()
  await assert.rejects(write, isUnavailable)
  await Promise.all(asking.map((ask) => assert.rejects(ask(), isUnavailable)))
  for (const ask of asking) await ask()
})

test(
  'a write whose commit is not answered is told as unknown, and not done a second time',
  options,
  async (t) => {
    const { store, die } = await storeBehindLine(t)
    let runs = 0
    const write = store.write(async (tx) => {
      runs++
      await tx.insertInto('meta').values({ name: 'commit', value: '' }).execute()
      die()
    })
    await assert.rejects(write, isUnavailable)
    assert.equal(runs, 1)
    assert.deepEqual(await named(store.db, { name: 'none' }), [])
  },
)

test(
  'a statement that takes too long is ended by the server, and its connection kept',
  options,
  async (t) => {
    const { store } = await storeBehindLine(t)
    const backend = await backendOf(store.db)
    await assert.rejects(sql`select pg_sleep(60)`.execute(store.db), isUnavailable)
    assert.equal(await backendOf(store.db), backend)
  },
)

test('migrations take as long as they take', options, async (t) => {
  const dataDir = await tempFolder(t)
  const databaseUrl = await postgres.createEmpty(t)
  const other = await connectTo({ dataDir, databaseUrl })
  closeAfter(t, () => other.close())
  const late = Promise.withResolvers<void>()
  const locking = other.write(async (tx) => {
    await lockMigrations(tx, other.dialect)
    await late.promise
  })
  const opening = openStore({ dataDir, databaseUrl, deadlines: DEADLINES })
  await waitFor('a wait longer than the deadline', async () => {
    const { rows } = await sql`select 1 from pg_stat_activity where datname = current_database()
      and wait_event = 'advisory' and clock_timestamp() - query_start > interval '1.2 seconds'`.execute(
      other.db,
    )
    return rows.length > 0
  })
  late.resolve()
  await locking
  await (await opening).close()
})

test('a listener on a dead line listens on another one', options, async (t) => {
  const { store, die } = await storeBehindLine(t)
  const heard: string[] = []
  const stop = await store.listen?.('esclusa', (payload) => heard.push(payload))
  closeAfter(t, async () => stop?.())
  assert.deepEqual(heard, [''])
  die()
  await waitFor('another connection', () => heard.length > 1)
  await store.notify('esclusa', 'news').catch(() => store.notify('esclusa', 'news'))
  await waitFor('the news', () => heard.includes('news'))
})

test('a process with nothing but dead lines ends', options, async (t) => {
  const { die, ...parts } = await serverBehindLine(t)
  const program = `import { connectTo } from ${JSON.stringify(new URL('./open.ts', import.meta.url).href)}
    const store = await connectTo(${JSON.stringify({ ...parts, deadlines: DEADLINES })})
    const stop = await store.listen('esclusa', () => {})
    await store.notify('esclusa', '')
    process.stdout.write('open')
    process.stdin.once('data', async () => {
      process.stdin.destroy()
      await stop()
      await store.close()
    })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  closeAfter(t, async () => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  die()
  child.stdin.write('close')
  assert.deepEqual(await once(child, 'exit'), [0, null])
})
