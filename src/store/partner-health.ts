// Which partners answer and which do not: the memory of the circuit breaker, shared by all nodes.

import { PARKED } from '../domain/transfer.ts'
import type { Db, Dialect, Tx } from './database/store.ts'
import { addEvent } from './events/outbox.ts'
import { isActive } from './transfers/active.ts'

export type Health = { contactId: string; failures: number; openUntil: number; error: string | null }

export async function findHealth(db: Db, contactId: string): Promise<Health | undefined> {
  const row = await db
    .selectFrom('partner_health')
    .selectAll()
    .where('contact_id', '=', contactId)
    .executeTakeFirst()
  return row && { contactId, failures: row.failures, openUntil: row.open_until, error: row.error }
}

/** Failed calls in a row that make a partner count as down. */
export const FAILURES_TO_BE_DOWN = 3

/** If this call makes the partner count as down, an event says so; `now` is its time. */
export async function putHealth(tx: Tx, health: Health, now: number): Promise<void> {
  const { contactId, failures, error } = health
  const before = await findHealth(tx, contactId)
  if (failures >= FAILURES_TO_BE_DOWN && (before?.failures ?? 0) < FAILURES_TO_BE_DOWN)
    await addEvent(tx, {
      type: 'partner.unreachable',
      at: now,
      contactId,
      data: { failures, ...(error !== null && { error }) },
    })
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

/** True for one caller only: the one that moves `openUntil` on from the value it read. It may probe the partner. */
export async function takeProbe(tx: Tx, seen: Health, until: number, owner: string): Promise<boolean> {
  const taken = await tx
    .updateTable('partner_health')
    .set({ open_until: until, probed_by: owner })
    .where('contact_id', '=', seen.contactId)
    .where('open_until', '=', seen.openUntil)
    .executeTakeFirst()
  return taken.numUpdatedRows === 1n
}

/**
 * The partner answers again, so transfers that waited for it are due now. Those that wait for something else (their
 * hour, the partner's call) are looked at once and wait again. Parked ones, which have no time, are left alone.
 */
export async function clearHealth(tx: Tx, contactId: string, now: number): Promise<void> {
  const before = await tx
    .deleteFrom('partner_health')
    .where('contact_id', '=', contactId)
    .returning('failures')
    .executeTakeFirst()
  if (before && before.failures >= FAILURES_TO_BE_DOWN)
    await addEvent(tx, { type: 'partner.reachable', at: now, contactId, data: {} })
  await tx
    .updateTable('transfer')
    .set({ due_at: now })
    .where(isActive)
    .where('state', '=', 'PENDING')
    .where('lease_owner', 'is', null)
    .where('due_at', '>', now)
    .where('due_at', '<', PARKED)
    .where('channel_code', 'in', (eb) =>
      eb.selectFrom('channel').select('code').where('contact_id', '=', contactId),
    )
    .execute()
}

/** Whether it is still down. If so, nobody can record an answer of the partner before this transaction is over. */
export async function stillDown(tx: Tx, dialect: Dialect, contactId: string): Promise<boolean> {
  let query = tx.selectFrom('partner_health').select('contact_id').where('contact_id', '=', contactId)
  if (dialect.rowLocks) query = query.forKeyShare()
  return (await query.executeTakeFirst()) !== undefined
}
