// Takes the oldest transfers of a channel away. Lists, ranks and totals are exact before and after each piece: positions
// of newer transfers stay, and the channel remembers how many below them are gone. Some old ones must stay (one that is not
// over, one that makes the channel's status ERROR, one whose files the partner has yet to take): they move up to the first
// places that are left.

import type { TransferRecord } from '../../domain/transfer.ts'
import { batches } from '../database/batches.ts'
import type { Db, Tx } from '../database/store.ts'
import { goneOf, lockCounters, shift } from '../transfers/list-positions.ts'
import { transfersById } from '../transfers/transfer-pages.ts'

/** Whether any may go: what only looks need not write. */
export async function hasOld(db: Db, code: string, before: number): Promise<boolean> {
  return (await mayGo(db, code, before, 1)).length > 0
}

/** Up to so many of the oldest transfers that ended before that time, with their files. */
export async function oldTransfers(
  db: Db,
  code: string,
  before: number,
  most: number,
): Promise<TransferRecord[]> {
  const ids = (await mayGo(db, code, before, most)).map(({ id }) => id)
  return ids.length === 0 ? [] : transfersById(db, ids)
}

/** How many went: up to so many of the oldest that may go; with `only`, none but these. */
export async function removeTransfers(
  tx: Tx,
  code: string,
  before: number,
  most: number,
  only?: ReadonlySet<string>,
): Promise<number> {
  // No other row of the channel comes or moves meanwhile.
  await lockCounters(tx, code)
  const gone = await goneOf(tx, code)
  const going = (await mayGo(tx, code, before, most)).filter(({ id }) => only?.has(id) ?? true)
  if (going.length === 0) return 0
  for (const some of batches(going.map(({ id }) => id))) {
    await tx.deleteFrom('outbox_file').where('transfer_id', 'in', some).execute()
    await tx.deleteFrom('transfer').where('id', 'in', some).execute()
  }
  // Those that stay between two that went, together; the last ones first, so that none is moved twice.
  for (const [index, { position }] of [...going.entries()].toReversed()) {
    const above = going[index - 1]?.position ?? gone
    if (position > above + 1) await shift(tx, code, { above, upTo: position - 1, by: going.length - index })
  }
  await tx
    .updateTable('channel_state')
    .set({ transfers_gone: gone + going.length })
    .where('code', '=', code)
    .execute()
  return going.length
}

/**
 * The oldest that are over since before that time, without those that the channel's status names, and those of which
 * something lies ready for a partner who calls, or is held until somebody decides about it: there may be no other copy.
 */
async function mayGo(
  db: Db,
  code: string,
  before: number,
  most: number,
): Promise<{ id: string; position: number }[]> {
  const state = await db
    .selectFrom('channel_state')
    .select(['error_id', 'emission_error_id', 'reception_error_id'])
    .where('code', '=', code)
    .executeTakeFirst()
  const named = Object.values(state ?? {}).filter((id) => id !== null)
  return db
    .selectFrom('transfer')
    .select(['id', 'position'])
    .where('channel_code', '=', code)
    .where('listed_at', '<', before)
    .where('state', 'in', ['COMPLETED', 'FAILED', 'CANCELLED'])
    .where('ended_at', '<', before)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('outbox_file')
            .select('outbox_file.id')
            .whereRef('outbox_file.transfer_id', '=', 'transfer.id')
            .where('taken_at', 'is', null),
        ),
      ),
    )
    .where('id', 'not in', (eb) =>
      eb
        .selectFrom('held_file')
        .innerJoin('outbox_file', 'outbox_file.id', 'held_file.outbox_id')
        .select('outbox_file.transfer_id')
        .where('held_file.channel_code', '=', code)
        .where('held_file.dropped_at', 'is', null),
    )
    .$if(named.length > 0, (query) => query.where('id', 'not in', named))
    .orderBy('listed_at')
    .orderBy('id')
    .limit(most)
    .execute()
}

/** Figures of hours that long ago, of all channels. True: there may be more. */
export async function removeHours(tx: Tx, before: number, most: number): Promise<boolean> {
  const rows = await tx
    .selectFrom('transfer_hour')
    .select(['hour', 'channel_code'])
    .where('hour', '<', Math.floor(before / 3_600_000))
    .orderBy('hour')
    .limit(most)
    .execute()
  for (const { hour, channel_code: code } of rows)
    await tx.deleteFrom('transfer_hour').where('hour', '=', hour).where('channel_code', '=', code).execute()
  return rows.length === most
}
