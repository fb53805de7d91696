// Takes the oldest entries of a channel's history away. Positions of the others stay; the channel remembers how many are
// gone, so totals and pages are exact.

import type { Db, Tx } from '../database/store.ts'

export type OldEntry = { position: number; at: number; event: string; detail: string | null }

/** Up to so many from the beginning on, all before that time. */
export async function oldHistory(db: Db, code: string, before: number, most: number): Promise<OldEntry[]> {
  const rows = await db
    .selectFrom('history')
    .select(['position', 'at', 'event', 'detail'])
    .where('channel_code', '=', code)
    .orderBy('position')
    .limit(most)
    .execute()
  const kept = rows.findIndex(({ at }) => at >= before)
  return kept < 0 ? rows : rows.slice(0, kept)
}

/** Everything up to that position. */
export async function removeHistory(tx: Tx, code: string, upTo: number): Promise<void> {
  await tx.updateTable('channel_state').set({ history_gone: upTo }).where('code', '=', code).execute()
  await tx.deleteFrom('history').where('channel_code', '=', code).where('position', '<=', upTo).execute()
}
