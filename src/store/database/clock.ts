// The database's own clock, in milliseconds: the one that all nodes of a platform share.

import { sql } from 'kysely'
import type { Db, Dialect, Store } from './store.ts'

/** Nodes whose clocks differ by more should be synchronised: leases and hours depend on them. */
export const MOST_SKEW_MS = 1000

export async function databaseNow(db: Db, dialect: Dialect): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${sql.raw(dialect.now)} as now`.execute(db)
  return rows[0]?.now ?? Date.now()
}

/** How far this machine's clock is off the database's. SQLite has none of its own. */
export async function clockSkew({ db, dialect }: Pick<Store, 'db' | 'dialect'>): Promise<number> {
  if (dialect.name === 'sqlite') return 0
  const before = Date.now()
  const at = await databaseNow(db, dialect)
  return Math.round(Math.abs(at - (before + Date.now()) / 2))
}
