// Opens SQLite or PostgreSQL as one Store, and is the one place that knows how they differ.
//
// Reads go through `db`, every write through `write(tx => …)`; query functions take their executor as first argument,
// so nothing inside a transaction can reach past it. On SQLite, writes that arrive together share one commit (and so
// one fsync: synchronous=FULL is the mode that syncs each commit): each runs in a savepoint of its own, and all are
// answered after the commit. A write must not wait for anything but the database: the lock is held meanwhile.

import Database from 'better-sqlite3'
import { Kysely, SqliteAdapter, SqliteDriver, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { CompiledQuery, ControlledTransaction, DatabaseConnection, Transaction } from 'kysely'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { NodeError, messageOf } from '../errors.ts'
import { translate } from './driver-errors.ts'
import { readDirectly } from './hot.ts'
import { migrate } from './migrate.ts'
import { openPostgres } from './postgres.ts'
import type { Tables } from './tables.ts'

export type Db = Kysely<Tables>
export type Tx = Transaction<Tables>

/** How the two databases differ, by name. */
export type Dialect = {
  name: 'sqlite' | 'postgres'
  /** Rows can be locked one by one; on SQLite a write holds the whole database already. */
  rowLocks: boolean
  /** Other nodes can be told by LISTEN and NOTIFY. */
  notify: boolean
}

export type Store = {
  readonly db: Db
  readonly dialect: Dialect
  write<T>(change: (tx: Tx) => Promise<T>): Promise<T>
  /** Connections set aside for what must not wait behind ordinary work: signs of life, claims. */
  readonly urgent: { readonly db: Db; write<T>(change: (tx: Tx) => Promise<T>): Promise<T> }
  /** PostgreSQL: a connection for LISTEN, kept by the caller. */
  listen?: (channel: string, heard: (payload: string) => void) => Promise<() => Promise<void>>
  notify(channel: string, payload: string): Promise<void>
  close(): Promise<void>
}

const SQLITE: Dialect = { name: 'sqlite', rowLocks: false, notify: false }

export type OpenOptions = {
  databaseUrl?: string | undefined
  dataDir: string
  /** A node that stops in the middle of a transaction must not keep rows locked for longer than its leases. */
  leaseSeconds?: number
}

const LEASE_SECONDS = 15

/** Opens the database and brings its schema up to date, under a lock so that only one of several nodes does it. */
export async function openStore(options: OpenOptions): Promise<Store> {
  const store = options.databaseUrl
    ? openPostgres(options.databaseUrl, options.leaseSeconds ?? LEASE_SECONDS)
    : openSqlite(options.dataDir)
  try {
    await migrate(store)
    return store
  } catch (thrown) {
    await store.close()
    throw thrown instanceof NodeError
      ? thrown
      : new NodeError('unavailable', `the database cannot be opened: ${messageOf(thrown)}`, { cause: thrown })
  }
}

function openSqlite(dataDir: string): Store {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'esclusa.db')
  const writer = connect(file)
  const reader = connect(file)
  const writes = new Kysely<Tables>({ dialect: sqliteDialect(writer) })
  const db = new Kysely<Tables>({ dialect: sqliteDialect(reader) })
  const snapshot = sharedSnapshot(reader)
  const write = groupedWrites(writes, snapshot.end)
  readDirectly(db, (sql) => {
    const statement = reader.prepare(sql)
    return (parameters) => {
      snapshot.share()
      return statement.all(...parameters)
    }
  })
  return {
    db,
    dialect: SQLITE,
    write,
    urgent: { db, write },
    notify: () => Promise.resolve(),
    close: async () => {
      snapshot.end()
      await db.destroy()
      await writes.destroy()
    },
  }
}

/**
 * Taking and leaving SQLite's read lock costs twice what a small read does: the reads of one turn of the event loop
 * share it. It ends with the turn, and before any write of this process is answered, so a writer reads what it wrote.
 */
function sharedSnapshot(reader: Database.Database) {
  const [begin, commit] = [reader.prepare('begin'), reader.prepare('commit')]
  let shared = false
  const end = () => {
    if (!shared) return
    shared = false
    commit.run()
  }
  const share = () => {
    if (shared) return
    begin.run()
    shared = true
    setImmediate(end)
  }
  return { share, end }
}

function connect(file: string): Database.Database {
  const database = new Database(file, { timeout: 15_000 })
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  database.pragma('temp_store = MEMORY')
  database.pragma('cache_size = -32000')
  // Compiling a statement costs ten times what running a small one does: keep them, by text, a bounded number.
  const prepared = new Map<string, Database.Statement>()
  const prepare = database.prepare.bind(database)
  return Object.assign(database, {
    prepare: (sql: string) => {
      const known = prepared.get(sql)
      if (known) return known
      const made = prepare(sql)
      if (prepared.size >= 500) prepared.clear()
      prepared.set(sql, made)
      return made
    },
  })
}

// `begin immediate`: a transaction that reads and then writes must not find that another has written in between.
class ImmediateDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(BEGIN_IMMEDIATE)
  }
}
const BEGIN_IMMEDIATE: CompiledQuery = {
  sql: 'begin immediate',
  parameters: [],
  query: { kind: 'RawNode', sqlFragments: ['begin immediate'], parameters: [] } as never, // raw text has no tree
  queryId: { queryId: 'begin' },
}

function sqliteDialect(database: Database.Database) {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new ImmediateDriver({ database }),
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

const GROUP = 32

type Waiting = {
  run: (tx: ControlledTransaction<Tables>) => Promise<void>
  fail: (thrown: unknown) => void
  done: () => void
}

function groupedWrites(writes: Kysely<Tables>, committed: () => void): Store['write'] {
  let waiting: Waiting[] = []
  let draining = false
  async function drain() {
    while (waiting.length > 0) {
      const group = waiting.slice(0, GROUP)
      waiting = waiting.slice(GROUP)
      await commitTogether(writes, group, committed)
    }
    draining = false
  }
  return (change) =>
    new Promise((resolve, reject) => {
      const entry: Waiting = {
        run: async (tx) => {
          const value = await change(tx)
          entry.done = () => resolve(value)
        },
        fail: reject,
        done: () => {},
      }
      waiting.push(entry)
      if (draining) return
      draining = true
      setImmediate(() => void drain())
    })
}

async function commitTogether(
  writes: Kysely<Tables>,
  group: Waiting[],
  committed: () => void,
): Promise<void> {
  const passed: Waiting[] = []
  try {
    const tx = await writes.startTransaction().execute()
    try {
      for (const entry of group) await inSavepoint(tx, entry, passed)
      await tx.commit().execute()
    } catch (thrown) {
      await tx.rollback().execute()
      throw thrown
    }
    committed()
    for (const entry of passed) entry.done()
  } catch (thrown) {
    for (const entry of group) entry.fail(translate(thrown))
  }
}

async function inSavepoint(
  tx: ControlledTransaction<Tables>,
  entry: Waiting,
  passed: Waiting[],
): Promise<void> {
  const point = await tx.savepoint('entry').execute()
  try {
    await entry.run(point)
    await point.releaseSavepoint('entry').execute()
    passed.push(entry)
  } catch (thrown) {
    await point.rollbackToSavepoint('entry').execute()
    await point.releaseSavepoint('entry').execute()
    entry.fail(translate(thrown))
  }
}
