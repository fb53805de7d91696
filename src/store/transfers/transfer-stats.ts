// What is kept of ended transfers beside the transfers themselves: counters by hour and channel, and the failures that
// put a channel in ERROR (failures.ts). Both are written in the transaction that ends a transfer. So they are always
// right, and nobody has to count a million rows.

import { sql } from 'kysely'
import type { TransferStatus } from '../../contract/transfer.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Arg } from '../database/prepared-queries.ts'
import type { Tx } from '../database/store.ts'
import { noteAllErrors, noteErrors } from './failures.ts'

export const HOUR_MS = 3_600_000
/** Twice what the chart shows; nothing else reads them. */
export const HOURS_KEPT = 48

export type Ended = { id: string; channelCode: string; endedAt: number; state: TransferStatus }

type Counted = {
  hour: number
  code: string
  completed: number
  failed: number
  cancelled: number
  id: string | null
}

/** The octets of the transfer with that `id`; none without one. */
const countInHour = hot((db, arg: Arg<Counted>) =>
  db
    .insertInto('transfer_hour')
    .values({
      hour: arg('hour'),
      channel_code: arg('code'),
      completed: arg('completed'),
      failed: arg('failed'),
      cancelled: arg('cancelled'),
      bytes: sql<number>`(select cast(coalesce(sum(size), 0) as bigint) from transfer_file where transfer_id = ${arg('id')})`,
    })
    .onConflict((conflict) =>
      conflict.columns(['hour', 'channel_code']).doUpdateSet((eb) => ({
        completed: eb('transfer_hour.completed', '+', eb.ref('excluded.completed')),
        failed: eb('transfer_hour.failed', '+', eb.ref('excluded.failed')),
        cancelled: eb('transfer_hour.cancelled', '+', eb.ref('excluded.cancelled')),
        bytes: eb('transfer_hour.bytes', '+', eb.ref('excluded.bytes')),
      })),
    )
    .returning(['completed', 'failed', 'cancelled']),
)

/** Call this once per transfer, when its row says that it is over and its files are in the database. */
export async function countEnd(tx: Tx, { id, channelCode, endedAt, state }: Ended): Promise<void> {
  const hour = Math.floor(endedAt / HOUR_MS)
  const one = (which: TransferStatus) => (state === which ? 1 : 0)
  const [counted] = await countInHour(tx, {
    hour,
    code: channelCode,
    completed: one('COMPLETED'),
    failed: one('FAILED'),
    cancelled: one('CANCELLED'),
    id: state === 'COMPLETED' ? id : null,
  })
  if (!counted) throw new Error(`the end of transfer ${id} was not counted`)
  if (counted.completed + counted.failed + counted.cancelled === 1) await dropOldHours(tx, channelCode, hour)
  await noteErrors(tx, channelCode)
}

/**
 * Runs at the first end of a transfer in an hour, for its channel only. It removes a few rows by an index. The caller
 * holds the lock on the channel's counters, so nobody else has to wait. A channel never has more than HOURS_KEPT rows.
 */
async function dropOldHours(tx: Tx, channelCode: string, hour: number): Promise<void> {
  await tx
    .deleteFrom('transfer_hour')
    .where('channel_code', '=', channelCode)
    .where('hour', '<=', hour - HOURS_KEPT)
    .execute()
}

/** Computes both again from the transfers, after finished transfers were written in bulk. */
export async function recountEnded(tx: Tx): Promise<void> {
  await tx.deleteFrom('transfer_hour').execute()
  await sql`insert into transfer_hour (hour, channel_code, completed, failed, cancelled, bytes)
    select t.ended_at / ${sql.lit(HOUR_MS)}, t.channel_code,
      sum(case when t.state = 'COMPLETED' then 1 else 0 end),
      sum(case when t.state = 'FAILED' then 1 else 0 end),
      sum(case when t.state = 'CANCELLED' then 1 else 0 end),
      cast(coalesce(sum(case when t.state = 'COMPLETED'
        then (select sum(f.size) from transfer_file f where f.transfer_id = t.id) end), 0) as bigint)
    from transfer t where t.ended_at is not null
    group by t.ended_at / ${sql.lit(HOUR_MS)}, t.channel_code`.execute(tx)
  await noteAllErrors(tx)
}
