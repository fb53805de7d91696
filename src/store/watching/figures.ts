// Figures of the platform for the metrics: what ended in a short span, when channels last succeeded, what waits and for
// how long. Each read uses an index that holds little else; the whole table of transfers is never counted.

import { sql } from 'kysely'
import type { TransferDirection, TransferStatus } from '../../contract/transfer.ts'
import type { Db } from '../database/store.ts'

export type EndedCount = {
  channelCode: string
  direction: TransferDirection
  state: TransferStatus
  code: string | null
  count: number
  lastAt: number
}

/** Those that ended at `from` or later, and before `before`. */
export async function countEndedByChannel(db: Db, from: number, before: number): Promise<EndedCount[]> {
  const rows = await db
    .selectFrom('transfer')
    .select((eb) => [
      'channel_code',
      'direction',
      'state',
      'error_code',
      eb.fn.countAll().as('count'),
      eb.fn.max('ended_at').as('last_at'),
    ])
    .where('ended_at', 'is not', null)
    .where('ended_at', '>=', from)
    .where('ended_at', '<', before)
    .groupBy(['channel_code', 'direction', 'state', 'error_code'])
    .execute()
  return rows.map((row) => ({
    channelCode: row.channel_code,
    direction: row.direction as TransferDirection, // closed lists, written by the store alone
    state: row.state as TransferStatus,
    code: row.error_code,
    count: Number(row.count),
    lastAt: Number(row.last_at),
  }))
}

export type MovedBytes = { channelCode: string; direction: TransferDirection; bytes: number }

/** Of the files of transfers that completed in that span. */
export async function bytesByChannel(db: Db, from: number, before: number): Promise<MovedBytes[]> {
  const rows = await db
    .selectFrom('transfer')
    .innerJoin('transfer_file', 'transfer_file.transfer_id', 'transfer.id')
    .select([
      'transfer.channel_code',
      'transfer.direction',
      sql<number>`cast(coalesce(sum(transfer_file.size), 0) as bigint)`.as('bytes'),
    ])
    .where('transfer.ended_at', 'is not', null)
    .where('transfer.ended_at', '>=', from)
    .where('transfer.ended_at', '<', before)
    .where('transfer.state', '=', 'COMPLETED')
    .groupBy(['transfer.channel_code', 'transfer.direction'])
    .execute()
  return rows.map((row) => ({
    channelCode: row.channel_code,
    direction: row.direction as TransferDirection,
    bytes: row.bytes,
  }))
}

export type LastSuccess = { channelCode: string; emission: number | null; reception: number | null }

/** Two looks into an index for each channel. */
export async function lastSuccesses(db: Db): Promise<LastSuccess[]> {
  const last = (direction: TransferDirection) => sql<number | null>`(select t.ended_at from transfer t
    where t.channel_code = channel.code and t.direction = ${direction} and t.ended_at is not null
      and t.state = 'COMPLETED' order by t.ended_at desc limit 1)`
  const rows = await db
    .selectFrom('channel')
    .select(['code', last('EMISION').as('emission'), last('RECEPCION').as('reception')])
    .execute()
  return rows.map(({ code, emission, reception }) => ({ channelCode: code, emission, reception }))
}

export type Waiting = {
  id: string
  channelCode: string
  direction: TransferDirection
  state: TransferStatus
  requestedAt: number
  dueAt: number
  /** Until when it is its node's: as long as its claim or its engine's sign of life lasts. */
  leaseUntil: number | null
}

/** Transfers that are not over: two per channel at the most. */
export async function transfersWaiting(db: Db): Promise<Waiting[]> {
  const rows = await db
    .selectFrom('transfer')
    .leftJoin('sign_of_life', 'sign_of_life.owner', 'transfer.lease_owner')
    .select([
      'id',
      'channel_code',
      'direction',
      'state',
      'requested_at',
      'due_at',
      'lease_until',
      'alive_until',
    ])
    .where(sql<boolean>`state in ('PENDING', 'IN_PROGRESS')`)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    channelCode: row.channel_code,
    direction: row.direction as TransferDirection,
    state: row.state as TransferStatus,
    requestedAt: row.requested_at,
    dueAt: row.due_at,
    leaseUntil: row.lease_until === null ? null : Math.max(row.lease_until, row.alive_until ?? 0),
  }))
}

/** When the oldest event was written that has no place yet; null: there is none. */
export async function oldestNewEvent(db: Db): Promise<number | null> {
  const row = await db
    .selectFrom('event_outbox')
    .select((eb) => eb.fn.min('at').as('at'))
    .executeTakeFirst()
  return row?.at ?? null
}

/** By subscription: since when it waits to be told, by its oldest delivery that is due or by its failures; null: it does not. */
export async function oldestDeliveries(
  db: Db,
): Promise<{ subscription: string; waitsSince: number | null }[]> {
  const rows = await db
    .selectFrom('subscription')
    .select([
      'id',
      'failing_since',
      sql<number | null>`(select min(delivery.due_at) from delivery
        where delivery.subscription_id = subscription.id and delivery.state = 'PENDING')`.as('due_at'),
    ])
    .execute()
  return rows.map(({ id, failing_since: failing, due_at: due }) => ({
    subscription: id,
    // After a failure what waits is due later and later.
    waitsSince: due === null ? null : Math.min(due, failing ?? due),
  }))
}
