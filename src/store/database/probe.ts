// Whether the database answers.

import type { Db } from './store.ts'

/** Reads one small row, or fails. */
export async function ping(db: Db): Promise<void> {
  await db.selectFrom('meta').select('name').limit(1).execute()
}
