// Which certificates were told of, and how long before their end.

import type { Tx } from '../database/store.ts'

/** True once for each certificate and span. */
export async function noteKey(tx: Tx, fingerprint: string, days: number, now: number): Promise<boolean> {
  const made = await tx
    .insertInto('key_notice')
    .values({ fingerprint, days, told_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return made.numInsertedOrUpdatedRows === 1n
}
