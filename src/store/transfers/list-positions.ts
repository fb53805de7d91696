// A transfer's place in the list of its channel.
//
// `position` is its rank by (listed_at, id), without gaps. So any page and any span of days is a range of positions. It
// is found in a few index steps, however large the table is, and totals are exact without counting. A row moves only
// when its listed_at changes, at its start. That shifts only the few rows between its old and its new place. Where old
// ones were removed, the first so many positions are gone and the others stay (retention/old-transfers.ts).

import { hot } from '../database/prepared-queries.ts'
import type { Arg } from '../database/prepared-queries.ts'
import type { Tx } from '../database/store.ts'

const countOneMore = hot((db, arg: Arg<{ code: string }>) =>
  db
    .updateTable('channel_state')
    .set((eb) => ({ transfer_count: eb('transfer_count', '+', 1) }))
    .where('code', '=', arg('code'))
    .returning(['transfer_count', 'transfers_gone']),
)

/** The position for a new row at that time. Locks the channel's counters, so writers of one channel take turns. */
export async function makeRoom(tx: Tx, code: string, at: number, id: string): Promise<number> {
  const [counted] = await countOneMore(tx, { code })
  if (!counted) throw new Error(`channel ${code} has no counters`)
  const { transfer_count: count, transfers_gone: gone } = counted
  const position = ((await lastBefore(tx, code, at, id)) ?? gone) + 1
  if (position < count) await shift(tx, code, { above: position - 1, by: 1 })
  return position
}

const listedBefore = hot((db, arg: Arg<{ code: string; at: number; id: string }>) =>
  db
    .selectFrom('transfer')
    .select('position')
    .where('channel_code', '=', arg('code'))
    .where((eb) =>
      eb.or([
        eb('listed_at', '<', arg('at')),
        eb.and([eb('listed_at', '=', arg('at')), eb('id', '<', arg('id'))]),
      ]),
    )
    .where('id', '!=', arg('id'))
    .orderBy('listed_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1),
)

async function lastBefore(tx: Tx, code: string, at: number, id: string): Promise<number | undefined> {
  const [row] = await listedBefore(tx, { code, at, id })
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

const touchCounters = hot((db, arg: Arg<{ code: string }>) =>
  db
    .updateTable('channel_state')
    .set((eb) => ({ transfer_count: eb.ref('transfer_count') }))
    .where('code', '=', arg('code')),
)

/** Changes nothing: the update only locks the counters. */
export async function lockCounters(tx: Tx, code: string): Promise<void> {
  await touchCounters(tx, { code })
}

const listAt = hot((db, arg: Arg<{ id: string; at: number; position: number }>) =>
  db
    .updateTable('transfer')
    .set({ listed_at: arg('at'), position: arg('position') })
    .where('id', '=', arg('id')),
)

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
  await listAt(tx, { id: row.id, at, position })
}
