// How partners are doing: the memory of the circuit breaker, shared by all nodes.

import type { Db, Tx } from './open.ts'

export type Health = { contactId: string; failures: number; openUntil: number; error: string | null }

export async function findHealth(db: Db, contactId: string): Promise<Health | undefined> {
  const row = await db
    .selectFrom('partner_health')
    .selectAll()
    .where('contact_id', '=', contactId)
    .executeTakeFirst()
  return row && { contactId, failures: row.failures, openUntil: row.open_until, error: row.error }
}

export async function putHealth(tx: Tx, health: Health): Promise<void> {
  const row = {
    contact_id: health.contactId,
    failures: health.failures,
    open_until: health.openUntil,
    error: health.error,
    probed_by: null,
  }
  await tx
    .insertInto('partner_health')
    .values(row)
    .onConflict((conflict) => conflict.column('contact_id').doUpdateSet(row))
    .execute()
}

/** True for one caller: whoever moves `openUntil` on from the value it read may probe the partner. */
export async function takeProbe(tx: Tx, seen: Health, until: number, owner: string): Promise<boolean> {
  const taken = await tx
    .updateTable('partner_health')
    .set({ open_until: until, probed_by: owner })
    .where('contact_id', '=', seen.contactId)
    .where('open_until', '=', seen.openUntil)
    .executeTakeFirst()
  return taken.numUpdatedRows === 1n
}

export async function clearHealth(tx: Tx, contactId: string): Promise<void> {
  await tx.deleteFrom('partner_health').where('contact_id', '=', contactId).execute()
}
