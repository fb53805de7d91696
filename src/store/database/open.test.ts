import assert from 'node:assert/strict'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { closeAfter, sqlite, tempFolder, testOnBoth, withStore } from '../../../test/support/harness.ts'
import { TABLE_NAMES } from '../../../test/support/rows.ts'
import { NodeError } from '../../errors.ts'
import { newId } from './ids.ts'
import { hot } from './prepared-queries.ts'
import { ownMigrations } from './migrate.ts'
import { openStore } from './open.ts'
import type { OpenOptions } from './open.ts'

async function openInProcess(options: OpenOptions): Promise<void> {
  const open = `import { openStore } from ${JSON.stringify(new URL('./open.ts', import.meta.url).href)}
    await (await openStore(${JSON.stringify(options)})).close()`
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', open])
}

testOnBoth(
  'several nodes that start together on an empty database make its schema once',
  async (t, database) => {
    const dataDir = await tempFolder(t)
    const databaseUrl = await database.createEmpty(t)
    // As processes: within one, who waits for its turn to write would stop the thread that both need.
    await Promise.all(Array.from({ length: 4 }, () => openInProcess({ dataDir, databaseUrl })))
    const store = await openStore({ dataDir, databaseUrl })
    closeAfter(t, () => store.close())
    assert.equal(
      (await store.db.selectFrom('meta').selectAll().where('name', '=', 'directory_version').execute())
        .length,
      1,
    )
    for (const table of TABLE_NAMES) await store.db.selectFrom(table).selectAll().limit(1).execute()
    const { rows } = await sql<{ name: string }>`select name from migration order by name`.execute(store.db)
    assert.deepEqual(
      rows.map(({ name }) => name),
      ownMigrations().map(({ name }) => name),
    )
  },
)

test('SQLite: none that opens an empty database in the same moment as others is refused', async (t) => {
  const [folder, openers, rounds] = [await tempFolder(t), 6, 100]
  const turn = new Int32Array(new SharedArrayBuffer(8))
  // All wait for the last one before each database.
  const opening = `import { openSqlite } from ${JSON.stringify(new URL('./sqlite.ts', import.meta.url).href)}
    import { workerData } from 'node:worker_threads'
    for (let round = 1; round <= ${rounds}; round++) {
      if (Atomics.add(workerData, 0, 1) === round * ${openers} - 1) {
        Atomics.store(workerData, 1, round)
        Atomics.notify(workerData, 1)
      } else while (Atomics.load(workerData, 1) < round) Atomics.wait(workerData, 1, round - 1)
      await openSqlite(${JSON.stringify(folder)} + '/' + round).close()
    }`
  const url = new URL(`data:text/javascript,${encodeURIComponent(opening)}`)
  const ends = Array.from({ length: openers }, async () => {
    const worker = new Worker(url, { workerData: turn })
    closeAfter(t, async () => void (await worker.terminate()))
    assert.deepEqual(await once(worker, 'exit'), [0])
  })
  await Promise.all(ends)
})

test('SQLite syncs every commit and checks references', async (t) => {
  const store = await withStore(t, sqlite)
  const pragma = async (name: string) => {
    const { rows } = await store.write((tx) => sql.raw<Record<string, unknown>>(`pragma ${name}`).execute(tx))
    return Object.values(rows[0] ?? {})[0]
  }
  assert.equal(await pragma('synchronous'), 2)
  assert.equal(await pragma('journal_mode'), 'wal')
  assert.equal(await pragma('foreign_keys'), 1)
})

test('SQLite: on a full disk every write of the group says so, nothing of it stays, and there is room again later', async (t) => {
  const store = await withStore(t, sqlite)
  const put = (name: string, value: string) =>
    store.write((tx) => tx.insertInto('meta').values({ name, value }).execute())
  const pages = (most: number) => store.write((tx) => sql.raw(`pragma max_page_count = ${most}`).execute(tx))
  await pages(1) // which is never less than there are
  const results = await Promise.allSettled([put('small', ''), put('large', 'x'.repeat(1_000_000))])
  for (const result of results) {
    assert.equal(result.status, 'rejected')
    assert.ok(result.reason instanceof NodeError, String(result.reason))
    assert.equal(result.reason.message, 'the database’s disk is full')
    assert.equal(result.reason.status, 503)
  }
  await pages(1_000_000)
  await put('later', '')
  const names = await store.db
    .selectFrom('meta')
    .select('name')
    .where('name', 'in', ['small', 'large', 'later'])
    .execute()
  assert.deepEqual(names, [{ name: 'later' }])
})

test('SQLite: while another process keeps the file locked a write waits, and reads are answered', async (t) => {
  const dataDir = await tempFolder(t)
  const store = await openStore({ dataDir })
  closeAfter(t, () => store.close())
  const values = () => store.db.selectFrom('meta').select('value').where('name', '=', 'waits').execute()
  const other = new Database(join(dataDir, 'esclusa.db'))
  closeAfter(t, async () => void other.close())
  other.exec('begin immediate')
  let isWritten = false
  const writing = store
    .write((tx) => tx.insertInto('meta').values({ name: 'waits', value: 'no more' }).execute())
    .then(() => (isWritten = true))
  for (let nth = 0; nth < 10; nth++) {
    await delay(20)
    assert.deepEqual([await values(), isWritten], [[], false])
  }
  other.exec('rollback')
  await writing
  assert.deepEqual(await values(), [{ value: 'no more' }])
})

test('SQLite: between two commits of many writes that wait, the sockets are served', async (t) => {
  const store = await withStore(t, sqlite)
  const server = createServer()
  const path = join(await tempFolder(t), 'socket')
  await once(server.listen(path), 'listening')
  const near = connect(path)
  const [far] = (await once(server, 'connection')) as [Socket]
  closeAfter(t, async () => {
    near.destroy()
    far.destroy()
    await promisify(server.close.bind(server))()
  })
  const order: string[] = []
  far.on('data', () => order.push('socket'))
  const write = async (nth: number) => {
    await store.write(async (tx) => {
      // There from here on, to whoever looks.
      if (nth === 0) near.write('x')
      await tx
        .insertInto('meta')
        .values({ name: `write ${nth}`, value: '' })
        .execute()
    })
    order.push('write')
  }
  // Three groups at the least, all of which wait already when the first one is written.
  await Promise.all(Array.from({ length: 100 }, (_, nth) => write(nth)))
  const served = order.indexOf('socket')
  assert.ok(served > 0 && served < 100, `after ${served} of 100 writes`)
})

test('SQLite: short answers are kept until the database changes, long ones are not', async (t) => {
  const store = await withStore(t, sqlite)
  const put = (name: string) =>
    store.write((tx) => tx.insertInto('meta').values({ name, value: '' }).execute())
  for (let number = 10; number < 43; number++) await put(`many-${number}`)
  const named = hot<{ most: string }, { name: string }>((db, arg) =>
    db.selectFrom('meta').select('name').where('name', '>=', 'many').where('name', '<=', arg('most')),
  )
  const isKept = async (most: string) =>
    (await named(store.db, { most })) === (await named(store.db, { most }))
  const few = await named(store.db, { most: 'many-41' })
  assert.equal(few.length, 32)
  assert.equal(await isKept('many-41'), true)
  assert.equal(await isKept('many-42'), false)
  await put('another')
  assert.notEqual(await named(store.db, { most: 'many-41' }), few)
})

testOnBoth('a channel of a partner that does not exist is refused by the database', async (t, database) => {
  const store = await withStore(t, database)
  const row = {
    code: 'A-B-C',
    id: 'x',
    contact_id: 'none',
    local_code: 'none',
    alias: null,
    config: '{}',
    secrets: '{}',
    automation: null,
    revision: 1,
  }
  await assert.rejects(store.write((tx) => tx.insertInto('channel').values(row).execute()))
})

test('what one process writes another sees at its next read', async (t) => {
  const dataDir = await tempFolder(t)
  const [one, two] = [await openStore({ dataDir }), await openStore({ dataDir })]
  closeAfter(t, async () => void (await Promise.all([one.close(), two.close()])))
  for (let i = 1; i <= 10; i++) {
    await one.write((tx) =>
      tx
        .updateTable('meta')
        .set({ value: String(i) })
        .where('name', '=', 'directory_version')
        .execute(),
    )
    const read = two.db.selectFrom('meta').select('value').where('name', '=', 'directory_version')
    assert.equal((await read.executeTakeFirstOrThrow()).value, String(i))
  }
})

test('SQLite: what another thread has committed is read at once, even within one turn of the event loop', async (t) => {
  const dataDir = await tempFolder(t)
  const store = await openStore({ dataDir })
  closeAfter(t, () => store.close())
  const done = new Int32Array(new SharedArrayBuffer(4))
  const writing = `import { openStore } from ${JSON.stringify(new URL('./open.ts', import.meta.url).href)}
    import { parentPort, workerData } from 'node:worker_threads'
    const store = await openStore(${JSON.stringify({ dataDir })})
    parentPort.once('message', async () => {
      const change = { value: 'changed' }
      await store.write((tx) => tx.updateTable('meta').set(change).where('name', '=', 'directory_version').execute())
      Atomics.store(workerData, 0, 1)
      Atomics.notify(workerData, 0)
      await store.close()
    })
    parentPort.postMessage('ready')`
  const other = new Worker(new URL(`data:text/javascript,${encodeURIComponent(writing)}`), {
    workerData: done,
  })
  closeAfter(t, async () => void (await other.terminate()))
  await once(other, 'message')
  const valueOf = hot<{ name: string }, { value: string }>((db, arg) =>
    db.selectFrom('meta').select('value').where('name', '=', arg('name')),
  )
  const hotRead = async () => (await valueOf(store.db, { name: 'directory_version' }))[0]?.value
  const builtRead = async () => {
    const named = store.db.selectFrom('meta').select('value').where('name', '=', 'directory_version')
    return (await named.executeTakeFirstOrThrow()).value
  }
  // The event loop does not turn meanwhile.
  const before = await hotRead()
  other.postMessage('write')
  Atomics.wait(done, 0, 0, 60_000)
  assert.equal(await builtRead(), 'changed')
  assert.deepEqual([before, await hotRead()], ['1', 'changed'])
})

test('a database that cannot be opened is told as such', async (t) => {
  const folder = await tempFolder(t)
  await assert.rejects(
    openStore({ dataDir: folder, databaseUrl: 'postgres://nobody@127.0.0.1:1/none' }),
    (thrown) => (thrown as { code?: string }).code === 'unavailable',
  )
  await writeFile(join(folder, 'file'), '')
  await assert.rejects(openStore({ dataDir: join(folder, 'file', 'data') }), /not a directory/)
})

test('a PostgreSQL that cannot be reached is named with its address and the cause, without the password', async (t) => {
  const databaseUrl = 'postgres://ana:hidden@127.0.0.1:1/esclusa'
  await assert.rejects(openStore({ dataDir: await tempFolder(t), databaseUrl }), {
    code: 'unavailable',
    message:
      'the database at 127.0.0.1:1 (ESCLUSA_DATABASE_URL) cannot be opened: connect ECONNREFUSED 127.0.0.1:1',
  })
})

test('ids are of version 7, in the order of making, also within one millisecond', () => {
  const ids = Array.from({ length: 2000 }, (_, i) => newId(1_700_000_000_000 + Math.floor(i / 1000)))
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids)
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
