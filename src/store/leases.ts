// Who runs a transfer. A claim takes the row under a lease and raises its fence; from then on only a writer that shows
// that very fence may change it. A node that dies stops renewing, and another claims; a node that merely slept finds
// its fence outdated at its next write and must stop.

import type { TransferRecord } from '../domain/transfer.ts'
import { ACTIVE } from '../domain/transfer.ts'
import { NodeError } from '../errors.ts'
import type { Db, Dialect, Store, Tx } from './open.ts'
import type { TransferFileRow, TransferRow } from './tables.ts'
import { toFile, toTransfer } from './transfers.ts'

export type Claim = { transfer: TransferRecord; snapshot: string | null }
export type Holder = { owner: string; until: number; now: number }

/** Takes due transfers that nobody holds, oldest first. On PostgreSQL rows that another node is taking are skipped. */
export async function claimDue(store: Store, holder: Holder, limit: number): Promise<Claim[]> {
  if (!(await anythingDue(store.db, holder.now))) return []
  return store.write(async (tx) => {
    let query = tx
      .selectFrom('transfer')
      .selectAll()
      .where('state', 'in', ACTIVE)
      .where('due_at', '<=', holder.now)
      .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', holder.now)]))
      .orderBy('due_at')
      .limit(limit)
    if (store.dialect.rowLocks) query = query.forUpdate().skipLocked()
    return take(tx, await query.execute(), holder)
  })
}

/** A look without a lock: an idle node must not write at every tick. */
async function anythingDue(db: Db, now: number): Promise<boolean> {
  const row = await db
    .selectFrom('transfer')
    .select('id')
    .where('state', 'in', ACTIVE)
    .where('due_at', '<=', now)
    .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', now)]))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** What waits for this partner, whatever its due time: the partner is on the line now. */
export async function claimForContact(
  store: Store,
  holder: Holder,
  contactId: string,
  limit: number,
): Promise<Claim[]> {
  return store.write(async (tx) => {
    let query = tx
      .selectFrom('transfer')
      .innerJoin('channel', 'channel.code', 'transfer.channel_code')
      .selectAll('transfer')
      .where('channel.contact_id', '=', contactId)
      .where('transfer.state', '=', 'PENDING')
      .where('transfer.direction', '=', 'EMISION')
      .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', holder.now)]))
      .orderBy('transfer.requested_at')
      .limit(limit)
    if (store.dialect.rowLocks) query = query.forUpdate('transfer').skipLocked()
    return take(tx, await query.execute(), holder)
  })
}

async function take(tx: Tx, rows: TransferRow[], holder: Holder): Promise<Claim[]> {
  const claims: Claim[] = []
  for (const row of rows) {
    const fence = row.fence + 1
    await tx
      .updateTable('transfer')
      .set({ lease_owner: holder.owner, lease_until: holder.until, fence })
      .where('id', '=', row.id)
      .execute()
    const files = await tx
      .selectFrom('transfer_file')
      .selectAll()
      .where('transfer_id', '=', row.id)
      .orderBy('idx')
      .execute()
    claims.push({ transfer: { ...toTransfer(row, files), fence }, snapshot: row.snapshot })
  }
  return claims
}

export type Held = { id: string; fence: number }

/** Renews the leases; returns those that are no longer held (reset, removed, or taken by another node). */
export async function renewLeases(store: Store, held: readonly Held[], until: number): Promise<Held[]> {
  if (held.length === 0) return []
  return store.write(async (tx) => {
    const lost: Held[] = []
    for (const one of held) {
      const renewed = await tx
        .updateTable('transfer')
        .set({ lease_until: until })
        .where('id', '=', one.id)
        .where('fence', '=', one.fence)
        .where('state', 'in', ACTIVE)
        .executeTakeFirst()
      if (renewed.numUpdatedRows === 0n) lost.push(one)
    }
    return lost
  })
}

/** Gives a claim back unstarted, to be looked at again at `dueAt`. */
export async function parkClaim(tx: Tx, held: Held, dueAt: number): Promise<void> {
  await tx
    .updateTable('transfer')
    .set({ lease_owner: null, lease_until: null, due_at: dueAt })
    .where('id', '=', held.id)
    .where('fence', '=', held.fence)
    .execute()
}

/** Locks the transfer for this transaction and makes sure that it is still ours; the start of every write of a runner. */
export async function requireHeld(tx: Tx, dialect: Dialect, held: Held): Promise<void> {
  let query = tx.selectFrom('transfer').select(['state', 'fence']).where('id', '=', held.id)
  if (dialect.rowLocks) query = query.forUpdate()
  const row = await query.executeTakeFirst()
  if (!row || row.state === 'CANCELLED') throw new NodeError('cancelled', `transfer ${held.id} was cancelled`)
  if (row.fence !== held.fence || row.state !== 'IN_PROGRESS')
    throw new NodeError('lease_lost', `transfer ${held.id} is no longer held by this node`)
}

/** Changes of one file, under the claim. */
export async function updateFile(
  tx: Tx,
  held: Held,
  index: number,
  changes: Partial<TransferFileRow>,
): Promise<void> {
  await tx
    .updateTable('transfer_file')
    .set(changes)
    .where('transfer_id', '=', held.id)
    .where('idx', '=', index)
    .execute()
}

export async function readFiles(db: Db, transferId: string) {
  const rows = await db
    .selectFrom('transfer_file')
    .selectAll()
    .where('transfer_id', '=', transferId)
    .orderBy('idx')
    .execute()
  return rows.map(toFile)
}

/** The soonest time at which something may be due, for the clock to wait for. */
export async function nextDueAt(db: Db): Promise<number | undefined> {
  const row = await db
    .selectFrom('transfer')
    .select('due_at')
    .where('state', 'in', ACTIVE)
    .where('lease_until', 'is', null)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst()
  return row?.due_at
}

/** The configuration a transfer started with, and what its scripts printed. */
export async function setSnapshot(tx: Tx, held: Held, snapshot: string): Promise<void> {
  await tx
    .updateTable('transfer')
    .set({ snapshot })
    .where('id', '=', held.id)
    .where('fence', '=', held.fence)
    .execute()
}

export async function addOutput(tx: Tx, transferId: string, text: string, limit: number): Promise<void> {
  const row = await tx.selectFrom('transfer').select('output').where('id', '=', transferId).executeTakeFirst()
  const output = ((row?.output ?? '') + text).slice(-limit)
  await tx.updateTable('transfer').set({ output }).where('id', '=', transferId).execute()
}
