// PostgreSQL as a Store: a pool for ordinary work, a small pool for urgent work that must not wait behind it, and
// LISTEN.

import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely'
import { Socket } from 'node:net'
import pg from 'pg'
import { systemCode } from '../../errors.ts'
import { translate } from './driver-errors.ts'
import { PostgresDriver, askPool, forgetPlans, isStalePlan, openPool } from './postgres-driver.ts'
import type { PooledConnection } from './postgres-driver.ts'
import { runDirectly } from './prepared-queries.ts'
import type { Deadlines, Db, Dialect, Store, Tx } from './store.ts'
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
const TRIES = 5
const KEEP_ALIVE_MS = 30_000
const CONNECT_MS = 10_000

type Limits = { leaseSeconds?: number | undefined; deadlines?: Deadlines | undefined }

export function openPostgres(url: string, { leaseSeconds, deadlines }: Limits): Store {
  // bigint columns hold milliseconds and sizes, all below 2^53.
  const types = { getTypeParser: (oid: number) => (oid === 20 ? Number : pg.types.getTypeParser(oid)) }
  const sockets = new Set<Socket>()
  const settings = {
    connectionString: url,
    types,
    application_name: 'esclusa',
    // Only then pg itself closes a connection on which an answer is overdue.
    pipeline: true,
    connectionTimeoutMillis: CONNECT_MS,
    stream: () => openSocket(sockets),
    // A listener asks nothing: without this it would never notice that the other end went away without a word.
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...(leaseSeconds !== undefined && {
      idle_in_transaction_session_timeout: Math.max(1000, leaseSeconds * 500),
    }),
  }
  const ordinary = { ...settings, ...within(deadlines?.ordinaryMs) }
  const pool = openPool(ordinary, POOL_SIZE)
  const aside = openPool({ ...settings, ...within(deadlines?.urgentMs) }, URGENT_SIZE)
  const [db, urgent] = [builderOn(pool), builderOn(aside)]
  return {
    db,
    dialect: POSTGRES,
    write: (change) => writeAgain(db, change, TRIES),
    urgent: { db: urgent, write: (change) => writeAgain(urgent, change, TRIES) },
    listen: (channel, heard) => listenForever(ordinary, channel, heard),
    notify: async (channel, payload) =>
      void (await sql`select pg_notify(${channel}, ${payload})`.execute(db)),
    close: async () => {
      await Promise.all([db.destroy(), urgent.destroy()])
      await Promise.all([pool.end(), aside.end()])
      // On a dead line the other end's goodbye never comes: the process need not wait for it.
      for (const socket of sockets) socket.unref()
    },
  }
}

function openSocket(sockets: Set<Socket>): Socket {
  const socket = new Socket()
  sockets.add(socket)
  return socket.once('close', () => sockets.delete(socket))
}

/** The server gives up a little sooner: a statement that is merely slow costs no connection, and does not go on alone. */
function within(deadlineMs: number | undefined): pg.ClientConfig {
  if (deadlineMs === undefined) return {}
  return { query_timeout: deadlineMs, statement_timeout: Math.ceil(deadlineMs * 0.8) }
}

function builderOn(pool: pg.Pool): Db {
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new PostgresDriver(pool),
      createIntrospector: (one) => new PostgresIntrospector(one),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
  runDirectly(db, (text) => (values) => askPool(pool, text, values))
  return db
}

/**
 * A write changes nothing but the database, so after a deadlock it is simply run again; and so it is if a table was
 * changed under the plan of a statement.
 */
async function writeAgain<T>(db: Db, change: (tx: Tx) => Promise<T>, tries: number): Promise<T> {
  try {
    return await db.transaction().execute((tx) => withItsConnection(tx, change))
  } catch (thrown) {
    const isStale = isStalePlan(thrown)
    if (isStale) forgetPlans()
    if (tries > 1 && (systemCode(thrown) === '40P01' || isStale)) return writeAgain(db, change, tries - 1)
    throw translate(thrown)
  }
}

/** Statements that run often go to the connection itself. The builder would let none begin before the last has ended. */
async function withItsConnection<T>(tx: Tx, change: (tx: Tx) => Promise<T>): Promise<T> {
  const connection = (await tx
    .getExecutor()
    .provideConnection((one) => Promise.resolve(one))) as PooledConnection // its driver makes no other
  let isOver = false
  runDirectly(tx, (text) => async (values) => {
    if (isOver) throw new Error(`the transaction is over: ${text}`)
    return connection.ask(text, values)
  })
  try {
    return await change(tx)
  } finally {
    isOver = true
  }
}

/**
 * LISTEN on its own connection, which is opened again whenever it breaks. After each opening, `heard` is called with
 * ''. Where answers have a deadline it is asked now and then, to see whether it still stands.
 */
async function listenForever(settings: pg.ClientConfig, channel: string, heard: (payload: string) => void) {
  let stopped = false
  let client: pg.Client | undefined
  let next: NodeJS.Timeout | undefined
  async function open(): Promise<void> {
    const fresh = new pg.Client(settings)
    const again = () => {
      if (client !== fresh) return
      client = undefined
      clearTimeout(next)
      if (!stopped) next = setTimeout(() => void open(), 1000)
    }
    const leave = () => {
      again()
      void fresh.end().catch(() => {})
    }
    const watch = () => {
      if (client !== fresh || stopped || !settings.query_timeout) return
      next = setTimeout(() => void fresh.query('select 1').then(watch, leave), settings.query_timeout)
    }
    client = fresh
    fresh.on('error', again)
    fresh.on('end', again)
    fresh.on('notification', (message) => heard(message.payload ?? ''))
    try {
      await fresh.connect()
      await fresh.query(`listen ${channel}`)
      heard('')
      watch()
    } catch {
      leave()
    }
  }
  await open()
  return async () => {
    stopped = true
    clearTimeout(next)
    // Nobody waits for its end, which on a dead line does not come.
    void client?.end().catch(() => {})
  }
}
