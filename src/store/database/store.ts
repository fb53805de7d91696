// What SQLite and PostgreSQL are to the rest of the program.
//
// Reads go through `db`, every write through `write(tx => …)`. Query functions take their executor as first argument,
// so code inside a transaction cannot write outside of it by mistake. A write must not wait for anything but the
// database: it holds a lock meanwhile.

import type { Kysely, Transaction } from 'kysely'
import type { Tables } from './tables.ts'

export type Db = Kysely<Tables>
export type Tx = Transaction<Tables>

/** How the two databases differ, by name. */
export type Dialect = {
  name: 'sqlite' | 'postgres'
  /** Rows can be locked one by one. On SQLite a write locks the whole database anyway. */
  rowLocks: boolean
  /** Other nodes can be told by LISTEN and NOTIFY. */
  notify: boolean
  /** The column of a table without a key that tells in which order its rows were written. */
  arrivalOrder: 'rowid' | 'seq'
  /** What its clock shows, as SQL: milliseconds since 1970. */
  now: string
}

/**
 * PostgreSQL: how long the answer to a statement may take. After that its connection counts as dead, as one does whose other
 * end went away without a word.
 */
export type Deadlines = { ordinaryMs: number; urgentMs: number }

export type Store = {
  readonly db: Db
  readonly dialect: Dialect
  write<T>(change: (tx: Tx) => Promise<T>): Promise<T>
  /** Connections for urgent work that must not wait behind the rest: signs of life, claims. */
  readonly urgent: { readonly db: Db; write<T>(change: (tx: Tx) => Promise<T>): Promise<T> }
  /** PostgreSQL: a connection for LISTEN, kept by the caller. */
  listen?: (channel: string, heard: (payload: string) => void) => Promise<() => Promise<void>>
  notify(channel: string, payload: string): Promise<void>
  close(): Promise<void>
}
