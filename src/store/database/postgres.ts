// PostgreSQL as a Store: a pool for ordinary work, a small pool for urgent work that must not wait behind it, and
// LISTEN.

import { Kysely, PostgresDialect, sql } from 'kysely'
import type { CompiledQuery } from 'kysely'
import pg from 'pg'
import { systemCode } from '../../errors.ts'
import { translate } from './driver-errors.ts'
import type { Db, Dialect, Store, Tx } from './store.ts'
import type { Tables } from './tables.ts'

const POSTGRES: Dialect = {
  name: 'postgres',
  rowLocks: true,
  notify: true,
  arrivalOrder: 'seq',
  now: 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)',
}

const POOL_SIZE = 10
const URGENT_SIZE = 2
const DEADLOCK_TRIES = 5

export function openPostgres(url: string, leaseSeconds: number | undefined): Store {
  // bigint columns hold milliseconds and sizes, all below 2^53.
  const types = { getTypeParser: (oid: number) => (oid === 20 ? Number : pg.types.getTypeParser(oid)) }
  const settings = {
    connectionString: url,
    types,
    application_name: 'esclusa',
    ...(leaseSeconds !== undefined && {
      idle_in_transaction_session_timeout: Math.max(1000, leaseSeconds * 500),
    }),
  }
  const db = openPool(settings, POOL_SIZE)
  const aside = openPool(settings, URGENT_SIZE)
  return {
    db,
    dialect: POSTGRES,
    write: (change) => writeAgain(db, change, DEADLOCK_TRIES),
    urgent: { db: aside, write: (change) => writeAgain(aside, change, DEADLOCK_TRIES) },
    listen: (channel, heard) => listenForever(settings, channel, heard),
    notify: async (channel, payload) =>
      void (await sql`select pg_notify(${channel}, ${payload})`.execute(db)),
    close: async () => {
      await db.destroy()
      await aside.destroy()
    },
  }
}

/** A connection may break at any moment. Only a query that is using it gets the error. */
function openPool(settings: pg.PoolConfig, max: number): Db {
  const pool = new pg.Pool({ ...settings, max, connectionTimeoutMillis: 10_000 })
  // Without a listener the error would end the process.
  const unheard = () => {}
  pool.on('error', unheard)
  pool.on('connect', (client) => client.on('error', unheard))
  const dialect = new PostgresDialect({
    pool: { connect: () => pool.connect().catch(raise), end: () => pool.end(), options: pool.options },
    onCreateConnection: (connection) => {
      const run = connection.executeQuery.bind(connection)
      connection.executeQuery = <R>(query: CompiledQuery) => run<R>(query).catch(raise)
      return Promise.resolve()
    },
  })
  return new Kysely<Tables>({ dialect })
}

function raise(thrown: unknown): never {
  throw translate(thrown)
}

/** A write changes nothing but the database, so after a deadlock it is simply run again. */
async function writeAgain<T>(db: Db, change: (tx: Tx) => Promise<T>, tries: number): Promise<T> {
  try {
    return await db.transaction().execute(change)
  } catch (thrown) {
    if (tries > 1 && systemCode(thrown) === '40P01') return writeAgain(db, change, tries - 1)
    throw translate(thrown)
  }
}

/**
 * LISTEN on its own connection, which is opened again whenever it breaks. After each opening, `heard` is called with
 * ''.
 */
async function listenForever(settings: pg.ClientConfig, channel: string, heard: (payload: string) => void) {
  let stopped = false
  let client: pg.Client | undefined
  let retry: NodeJS.Timeout | undefined
  async function open(): Promise<void> {
    const fresh = new pg.Client(settings)
    const again = () => {
      if (client !== fresh) return
      client = undefined
      if (!stopped) retry = setTimeout(() => void open().catch(again), 1000)
    }
    client = fresh
    fresh.on('error', again)
    fresh.on('end', again)
    fresh.on('notification', (message) => heard(message.payload ?? ''))
    try {
      await fresh.connect()
      await fresh.query(`listen ${channel}`)
      heard('')
    } catch {
      again()
      await fresh.end().catch(() => {})
    }
  }
  await open()
  return async () => {
    stopped = true
    clearTimeout(retry)
    await client?.end().catch(() => {})
  }
}
