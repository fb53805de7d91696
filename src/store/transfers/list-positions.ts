// A transfer's place in the list of its channel.
//
// `position` is its rank by (listed_at, id), without gaps. So any page and any span of days is a range of positions. It
// is found in a few index steps, however large the table is, and totals are exact without counting. A row moves only
// when its listed_at changes, at its start. That shifts only the few rows between its old and its new place. Where old
// ones were removed, the first so many positions are gone and the others stay (retention/old-transfers.ts).

import type { Tx } from '../database/store.ts'

/** The position for a new row at that time. Locks the channel's counters, so writers of one channel take turns. */
export async function makeRoom(tx: Tx, code: string, at: number, id: string): Promise<number> {
  const { transfer_count: count, transfers_gone: gone } = await tx
    .updateTable('channel_state')
    .set((eb) => ({ transfer_count: eb('transfer_count', '+', 1) }))
    .where('code', '=', code)
    .returning(['transfer_count', 'transfers_gone'])
    .executeTakeFirstOrThrow()
  const position = ((await lastBefore(tx, code, at, id)) ?? gone) + 1
  if (position < count) await shift(tx, code, { above: position - 1, by: 1 })
  return position
}

async function lastBefore(tx: Tx, code: string, at: number, id: string): Promise<number | undefined> {
  const row = await tx
    .selectFrom('transfer')
    .select('position')
    .where('channel_code', '=', code)
    .where((eb) => eb.or([eb('listed_at', '<', at), eb.and([eb('listed_at', '=', at), eb('id', '<', id)])]))
    .where('id', '!=', id)
    .orderBy('listed_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.position
}

export async function shift(
  tx: Tx,
  code: string,
  rows: { above: number; upTo?: number; by: number },
): Promise<void> {
  let query = tx
    .updateTable('transfer')
    .set((eb) => ({ position: eb('position', '+', rows.by) }))
    .where('channel_code', '=', code)
    .where('position', '>', rows.above)
  if (rows.upTo !== undefined) query = query.where('position', '<=', rows.upTo)
  await query.execute()
}

/** The last position that retention has taken away. */
export async function goneOf(tx: Tx, code: string): Promise<number> {
  const row = await tx
    .selectFrom('channel_state')
    .select('transfers_gone')
    .where('code', '=', code)
    .executeTakeFirst()
  return row?.transfers_gone ?? 0
}

/** Changes nothing: the update only locks the counters. */
export async function lockCounters(tx: Tx, code: string): Promise<void> {
  await tx
    .updateTable('channel_state')
    .set((eb) => ({ transfer_count: eb.ref('transfer_count') }))
    .where('code', '=', code)
    .execute()
}

/** Moves a row to its new place in the list. The counters are locked, so no other row moves at the same time. */
export async function relist(
  tx: Tx,
  row: { id: string; channel_code: string; position: number },
  at: number,
): Promise<void> {
  const before = (await lastBefore(tx, row.channel_code, at, row.id)) ?? (await goneOf(tx, row.channel_code))
  const position = before >= row.position ? before : before + 1
  if (position > row.position)
    await shift(tx, row.channel_code, { above: row.position, upTo: position, by: -1 })
  if (position < row.position)
    await shift(tx, row.channel_code, { above: before, upTo: row.position - 1, by: 1 })
  await tx.updateTable('transfer').set({ listed_at: at, position }).where('id', '=', row.id).execute()
}
