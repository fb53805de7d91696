import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { test } from 'node:test'
import { postgres, waitFor, withStore } from '../../../test/support/harness.ts'
import { NodeError } from '../../errors.ts'
import type { Db } from './store.ts'

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
