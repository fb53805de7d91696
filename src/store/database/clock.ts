// The database's own clock, in milliseconds: the one that all nodes of a platform share.

import { sql } from 'kysely'
import type { Db, Dialect } from './store.ts'

export async function databaseNow(db: Db, dialect: Dialect): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${sql.raw(dialect.now)} as now`.execute(db)
  return rows[0]?.now ?? Date.now()
}
