// How many transfers there are, for the metrics. Transfers under way are counted with an index that holds nothing else,
// ended ones over a short span of time. The whole table is never counted.

import type { TransferDirection, TransferStatus } from '../../contract/transfer.ts'
import { ACTIVE } from '../../domain/transfer.ts'
import type { Db } from '../database/store.ts'

export type TransferCount = { direction: TransferDirection; state: TransferStatus; count: number }

export async function countActive(db: Db): Promise<TransferCount[]> {
  const rows = await db
    .selectFrom('transfer')
    .select((eb) => ['direction', 'state', eb.fn.countAll().as('count')])
    .where('state', 'in', ACTIVE)
    .groupBy(['direction', 'state'])
    .execute()
  return rows.map(toCount)
}

/** Those that ended at `from` or later, and before `before`. */
export async function countEnded(db: Db, from: number, before: number): Promise<TransferCount[]> {
  const rows = await db
    .selectFrom('transfer')
    .select((eb) => ['direction', 'state', eb.fn.countAll().as('count')])
    .where('ended_at', 'is not', null)
    .where('ended_at', '>=', from)
    .where('ended_at', '<', before)
    .groupBy(['direction', 'state'])
    .execute()
  return rows.map(toCount)
}

function toCount(row: { direction: string; state: string; count: string | number | bigint }): TransferCount {
  return {
    direction: row.direction as TransferDirection, // closed lists, written by the store alone
    state: row.state as TransferStatus,
    count: Number(row.count),
  }
}
