// Receipts that partners have taken: nothing reads them any more.

import type { Tx } from '../database/store.ts'

/** Up to so many that were delivered before that time. True: there may be more. */
export async function removeDelivered(tx: Tx, before: number, most: number): Promise<boolean> {
  const rows = await tx
    .selectFrom('owed_receipt')
    .select('id')
    .where('delivered_at', '<', before)
    .limit(most)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await tx.deleteFrom('owed_receipt').where('id', 'in', ids).execute()
  return ids.length === most
}
