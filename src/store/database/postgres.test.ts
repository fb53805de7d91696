import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { postgres, waitFor, withStore } from '../../../test/support/harness.ts'
import { NodeError } from '../../errors.ts'
import { hot } from './prepared-queries.ts'
import type { Arg } from './prepared-queries.ts'
import type { Db, Store, Tx } from './store.ts'

const { skip = false } = postgres

async function backendOf(db: Db): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  return rows[0]?.pid ?? 0
}

/** Resolves when the server has closed the connection. */
async function end(db: Db, backend: number): Promise<void> {
  await sql`select pg_terminate_backend(${backend}, 10000)`.execute(db)
}

function isUnavailable(thrown: unknown): boolean {
  return thrown instanceof NodeError && thrown.code === 'unavailable'
}

test('a connection that ends inside a transaction fails that write alone', { skip }, async (t) => {
  const store = await withStore(t, postgres)
  const write = store.write(async (tx) => {
    const backend = await backendOf(tx)
    await end(store.db, backend)
    // Heard while no statement runs on it: with nobody to hear it, the error would end the process.
    for (let nth = 0; nth < 5; nth++) await backendOf(store.db)
    await backendOf(tx)
  })
  await assert.rejects(write, isUnavailable)
  assert.ok(await store.write((tx) => backendOf(tx)))
})

test('a read on a connection that ended says that the database does not answer', { skip }, async (t) => {
  const store = await withStore(t, postgres)
  const reading = sql`select pg_sleep(60)`.execute(store.db)
  const backend = await waitFor('the read', async () => {
    const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity
      where datname = current_database() and query like 'select pg_sleep%'`.execute(store.urgent.db)
    return rows[0]?.pid
  })
  await Promise.all([assert.rejects(reading, isUnavailable), end(store.urgent.db, Number(backend))])
})

test(
  'a connection that ends with many statements under way fails all of them, and nothing else',
  { skip },
  async (t) => {
    const store = await withStore(t, postgres)
    const nap = hot((db, arg: Arg<{ seconds: number }>) => ({
      compile: () => sql`select pg_sleep(${arg('seconds')})`.compile(db),
    }))
    const ends: PromiseSettledResult<unknown>[] = []
    const write = store.write(async (tx) => {
      const backend = await backendOf(tx)
      const naps = Promise.allSettled(Array.from({ length: 20 }, async () => nap(tx, { seconds: 60 })))
      await end(store.db, backend)
      ends.push(...(await naps))
    })
    await assert.rejects(write, isUnavailable)
    assert.equal(ends.length, 20)
    for (const one of ends) assert.ok(one.status === 'rejected' && isUnavailable(one.reason))
    assert.deepEqual((await store.write(async (tx) => nap(tx, { seconds: 0 }))).length, 1)
  },
)

test('what is urgent does not wait for a connection behind ordinary work', { skip }, async (t) => {
  const store = await withStore(t, postgres)
  const gate = Promise.withResolvers<void>()
  let busy = 0
  const work = Array.from({ length: 30 }, () =>
    store.write(async (tx) => {
      await backendOf(tx)
      busy++
      await gate.promise
    }),
  )
  await waitFor('every connection to be taken', () => busy === 10)
  assert.ok(await store.urgent.write((tx) => backendOf(tx)))
  assert.equal(busy, 10)
  gate.resolve()
  await Promise.all(work)
})

/** A statement of its own for each test: all columns of a table, planned once for each connection. */
const entityLike = () =>
  hot((db, arg: Arg<{ code: string }>) =>
    db.selectFrom('local_entity').selectAll().where('code', '=', arg('code')),
  )

/** Another node, of the next version, changes the table. */
async function addColumn(store: Store, name: string): Promise<void> {
  await sql`alter table local_entity add column ${sql.ref(name)} text default 'new'`.execute(store.urgent.db)
}

test(
  'a table that changes under a statement’s plan costs neither a read nor a write',
  { skip },
  async (t) => {
    const store = await withStore(t, postgres)
    const entity = entityLike()
    const write = () =>
      store.write(async (tx) => {
        await tx
          .insertInto('local_entity')
          .values({ code: 'A', name: 'A' })
          .onConflict((c) => c.doNothing())
          .execute()
        return entity(tx, { code: 'A' })
      })
    assert.equal((await write()).length, 1)
    // All connections of the pool have the plan.
    await Promise.all(
      Array.from({ length: 10 }, () => Promise.all([entity(store.db, { code: 'A' }), write()])),
    )
    await addColumn(store, 'later')
    assert.deepEqual(
      (await entity(store.db, { code: 'A' })).map((row) => Reflect.get(row, 'later')),
      ['new'],
    )
    await addColumn(store, 'latest')
    assert.deepEqual(
      (await write()).map((row) => Reflect.get(row, 'latest')),
      ['new'],
    )
  },
)

test('plans that somebody has cleared away are made anew', { skip }, async (t) => {
  const store = await withStore(t, postgres)
  const entity = entityLike()
  let tries = 0
  const rows = await store.write(async (tx) => {
    await entity(tx, { code: 'A' })
    if (++tries === 1) await sql`deallocate all`.execute(tx)
    return entity(tx, { code: 'A' })
  })
  assert.deepEqual([rows, tries], [[], 2])
})

test('a statement that fails before one is planned costs no connection its plans', { skip }, async (t) => {
  const store = await withStore(t, postgres)
  const known = entityLike()
  const fresh = hot((db, arg: Arg<{ name: string }>) =>
    db.selectFrom('local_entity').select('code').where('name', '=', arg('name')).where('code', '<>', 'none'),
  )
  const add = hot((db, arg: Arg<{ code: string }>) =>
    db.insertInto('local_entity').values({ code: arg('code'), name: 'A' }),
  )
  const planned = () =>
    store.write(async (tx) => {
      await known(tx, { code: 'A' })
      const { rows } = await sql<{ name: string }>`select name from pg_prepared_statements
        where statement like 'select * from "local_entity"%'`.execute(tx)
      return rows.map(({ name }) => name)
    })
  const before = await planned()
  await store.write(async (tx) => add(tx, { code: 'A' }))
  const refused = store.write(async (tx) => {
    const ask = async (answer: unknown) => answer
    const asked = [add(tx, { code: 'A' }), fresh(tx, { name: 'A' }), fresh(tx, { name: 'A' })].map(ask)
    await Promise.allSettled(asked)
    await Promise.all(asked)
  })
  await assert.rejects(refused, /duplicate key/)
  assert.deepEqual(await store.write(async (tx) => fresh(tx, { name: 'A' })), [{ code: 'A' }])
  assert.deepEqual(await planned(), before, 'the same plans under the same names')
})

test(
  'statements of one transaction need not wait for each other, and none goes after its end',
  { skip },
  async (t) => {
    const store = await withStore(t, postgres)
    const entity = entityLike()
    const codes = Array.from({ length: 100 }, (_, nth) => String(nth))
    let tx: Tx | undefined
    await store.write(async (one) => {
      tx = one
      const values = codes.map((code) => ({ code, name: code }))
      await one.insertInto('local_entity').values(values).execute()
      const found = await Promise.all(codes.map(async (code) => entity(one, { code })))
      assert.deepEqual(
        found.map((rows) => rows.map(({ code }) => code)),
        codes.map((code) => [code]),
      )
    })
    assert.ok(tx)
    const late = tx
    await assert.rejects(async () => entity(late, { code: 'A' }), /the transaction is over/)
  },
)

test('a transaction in which a statement failed is not taken for written', { skip }, async (t) => {
  const store = await withStore(t, postgres)
  const write = store.write(async (tx) => {
    await tx.insertInto('local_entity').values({ code: 'A', name: 'A' }).execute()
    await sql`select 1 / 0`.execute(tx).catch(() => {})
  })
  await assert.rejects(write, /rolled back/)
  assert.deepEqual(await entityLike()(store.db, { code: 'A' }), [])
})

test('a database that takes no writes is told as such, and may be tried again', { skip }, async (t) => {
  const store = await withStore(t, postgres)
  const write = store.write(async (tx) => {
    await sql`set transaction read only`.execute(tx)
    await tx.insertInto('local_entity').values({ code: 'A', name: 'A' }).execute()
  })
  await assert.rejects(write, (thrown) => isUnavailable(thrown) && /read-only/.test(String(thrown)))
})

/** Of the connection from that local port, by Linux: 2 while it waits to see whether the other end is still there. */
async function timerOf(port: number): Promise<number> {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  for (const line of (await readFile('/proc/net/tcp', 'utf8')).split('\n')) {
    const [, address = '', , , , timer = ''] = line.trim().split(/\s+/)
    if (address.endsWith(local)) return Number(timer.slice(0, 2))
  }
  return -1
}

test(
  'a listener notices that the other end is gone without a word',
  { skip: skip || (process.platform !== 'linux' && 'only Linux shows the timers of connections') },
  async (t) => {
    const store = await withStore(t, postgres)
    const stop = await store.listen?.('esclusa', () => {})
    t.after(() => stop?.())
    const { rows } = await sql<{ port: number }>`select client_port as port from pg_stat_activity
      where datname = current_database() and query = 'listen esclusa'`.execute(store.db)
    assert.equal(rows.length, 1)
    await waitFor('the watch', async () => (await timerOf(rows[0]?.port ?? 0)) === 2)
  },
)
