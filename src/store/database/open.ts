// Opens SQLite or PostgreSQL as one Store: what the two are to the rest of the program.
//
// Reads go through `db`, every write through `write(tx => …)`; query functions take their executor as first argument,
// so nothing inside a transaction can reach past it. A write must not wait for anything but the database: the lock is
// held meanwhile.

import type { Kysely, Transaction } from 'kysely'
import { NodeError, messageOf } from '../../errors.ts'
import { migrate } from './migrate.ts'
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

export type OpenOptions = {
  databaseUrl?: string | undefined
  dataDir: string
  /** A node that stops in the middle of a transaction must not keep rows locked for longer than its leases. */
  leaseSeconds?: number
}

const LEASE_SECONDS = 15

/** Opens the database and brings its schema up to date, under a lock so that only one of several nodes does it. */
export async function openStore(options: OpenOptions): Promise<Store> {
  const store = await connectTo(options)
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

/** Only the driver that is needed is loaded. */
async function connectTo({
  databaseUrl,
  dataDir,
  leaseSeconds = LEASE_SECONDS,
}: OpenOptions): Promise<Store> {
  if (databaseUrl) return (await import('./postgres.ts')).openPostgres(databaseUrl, leaseSeconds)
  return (await import('./sqlite.ts')).openSqlite(dataDir)
}
