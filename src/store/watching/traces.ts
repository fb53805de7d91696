// The trace that a transfer belongs to, where whoever asked for it named one.

import type { Db, Tx } from '../database/store.ts'

export async function putTraceParent(tx: Tx, transferId: string, traceparent: string): Promise<void> {
  await tx.insertInto('transfer_trace').values({ transfer_id: transferId, traceparent }).execute()
}

export async function findTraceParent(db: Db, transferId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('transfer_trace')
    .select('traceparent')
    .where('transfer_id', '=', transferId)
    .executeTakeFirst()
  return row?.traceparent
}
