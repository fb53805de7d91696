// Whether the database answers, and whether it can be written.

import type { Db, Store } from './store.ts'

/** Reads one small row, or fails. */
export async function ping(db: Db): Promise<void> {
  await db.selectFrom('meta').select('name').limit(1).execute()
}

/** Writes one small row of its own, or fails: for instance where the disk is full or can only be read. */
export async function tryWrite(store: Store, now: number): Promise<void> {
  const value = String(now)
  await store.write((tx) =>
    tx
      .insertInto('meta')
      .values({ name: 'last_write_probe', value })
      .onConflict((row) => row.column('name').doUpdateSet({ value }))
      .execute(),
  )
}
