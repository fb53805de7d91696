// Whether the database answers, and what time it has.

import { sql } from 'kysely'
import type { Db, Store } from './store.ts'

/** Reads one small row, or fails. */
export async function ping(db: Db): Promise<void> {
  await db.selectFrom('meta').select('name').limit(1).execute()
}

/** PostgreSQL's clock; SQLite has none of its own. */
export async function databaseTime({ db, dialect }: Store): Promise<number | undefined> {
  if (dialect.name === 'sqlite') return undefined
  const { rows } = await sql<{
    at: number
  }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as at`.execute(db)
  return rows[0]?.at
}
