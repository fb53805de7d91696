// A delivery is one event for one subscription. It is inserted in the transaction that gives the event its position, so
// it exists exactly once. Then it is tried until it is delivered or given up.

import { sql } from 'kysely'
import type { EventRecord } from '../../domain/event.ts'
import { batches } from '../database/batches.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Db, Tx } from '../database/store.ts'
import type { DeliveryRow } from '../database/tables.ts'
import { toEvent } from './sequence.ts'

export type DeliveryState = 'PENDING' | 'DELIVERED' | 'FAILED'

/** In the text of the statement: by a value, SQLite would plan anew at every run to take the index of these few. */
const isPending = sql<boolean>`delivery.state = 'PENDING'`

/** What became of one attempt. */
export type Try = {
  at: number
  /** HTTP status, or SMTP's answer code. */
  status?: number | undefined
  tookMs: number
  error?: string | undefined
  /** The first kilobyte of the answer. */
  answer?: string | undefined
}

export type Delivery = {
  subscriptionId: string
  position: number
  lane: string
  state: DeliveryState
  attempts: number
  dueAt: number
  batch: string | null
  tries: Try[]
  endedAt: number | null
}

export type NewDelivery = { subscriptionId: string; event: EventRecord }

export async function addDeliveries(tx: Tx, made: readonly NewDelivery[], now: number): Promise<void> {
  const rows = made.map(({ subscriptionId, event }): DeliveryRow => ({
    subscription_id: subscriptionId,
    position: event.position,
    lane: event.channelCode ?? event.contactId ?? '',
    state: 'PENDING',
    attempts: 0,
    due_at: now,
    batch: null,
    tries: '[]',
    ended_at: null,
  }))
  for (const some of batches(rows)) await tx.insertInto('delivery').values(some).execute()
}

/** Subscriptions that are on and have something due. One probe of an index each, however much is waiting. */
export async function subscriptionsDue(db: Db, now: number): Promise<string[]> {
  const rows = await db
    .selectFrom('subscription')
    .select('id')
    .where('state', '=', 'ON')
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('delivery')
          .select('delivery.position')
          .whereRef('delivery.subscription_id', '=', 'subscription.id')
          .where(isPending)
          .where('delivery.due_at', '<=', now),
      ),
    )
    .execute()
  return rows.map((row) => row.id)
}

export type DueDelivery = Delivery & { event: EventRecord }

/** The oldest first. */
export async function dueDeliveries(
  db: Db,
  subscriptionId: string,
  asked: { now: number; limit: number },
): Promise<DueDelivery[]> {
  const rows = await db
    .selectFrom('delivery')
    .innerJoin('event', 'event.position', 'delivery.position')
    .selectAll('delivery')
    .select(['event.id', 'event.at', 'event.type', 'event.channel_code', 'event.contact_id', 'event.body'])
    .where('delivery.subscription_id', '=', subscriptionId)
    .where(isPending)
    .where('delivery.due_at', '<=', asked.now)
    .orderBy('delivery.due_at')
    .orderBy('delivery.position')
    .limit(asked.limit)
    .execute()
  return rows.map((row) => ({ ...toDelivery(row), event: toEvent(row) }))
}

export type DeliveryFilter = {
  subscriptionId?: string | undefined
  position?: number | undefined
  state?: DeliveryState | undefined
  beforePosition?: number | undefined
}

/** The newest event first. */
export async function findDeliveries(db: Db, filter: DeliveryFilter, limit: number): Promise<DueDelivery[]> {
  let query = db
    .selectFrom('delivery')
    .innerJoin('event', 'event.position', 'delivery.position')
    .selectAll('delivery')
    .select(['event.id', 'event.at', 'event.type', 'event.channel_code', 'event.contact_id', 'event.body'])
    .orderBy('delivery.position', 'desc')
    .orderBy('delivery.subscription_id')
    .limit(limit)
  const { subscriptionId, position, state, beforePosition } = filter
  if (subscriptionId !== undefined) query = query.where('delivery.subscription_id', '=', subscriptionId)
  if (position !== undefined) query = query.where('delivery.position', '=', position)
  if (state !== undefined) query = query.where('delivery.state', '=', state)
  if (beforePosition !== undefined) query = query.where('delivery.position', '<', beforePosition)
  return (await query.execute()).map((row) => ({ ...toDelivery(row), event: toEvent(row) }))
}

/** How many are still to be made, by subscription. Counted up to a thousand each. */
export async function countWaiting(db: Db, subscriptionIds: readonly string[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const id of subscriptionIds) {
    const rows = await db
      .selectFrom('delivery')
      .select('position')
      .where('subscription_id', '=', id)
      .where(isPending)
      .limit(1000)
      .execute()
    counts.set(id, rows.length)
  }
  return counts
}

/**
 * Lanes with a delivery that waits for its first repetition. The ones behind it wait too, so that the order is kept.
 */
export async function lanesHeld(db: Db, subscriptionId: string, now: number): Promise<Set<string>> {
  const rows = await db
    .selectFrom('delivery')
    .select('lane')
    .distinct()
    .where('subscription_id', '=', subscriptionId)
    .where(isPending)
    .where('due_at', '>', now)
    .where('attempts', '=', 1)
    .execute()
  return new Set(rows.map((row) => row.lane))
}

export type Outcome = {
  subscriptionId: string
  position: number
  state: DeliveryState
  attempts: number
  dueAt: number
  /** All that are known, this one last. */
  tries: readonly Try[]
  at: number
}

const TRIES_KEPT = 12

type OutcomeRow = Pick<DeliveryRow, 'subscription_id' | 'position' | 'state' | 'attempts' | 'due_at'> &
  Pick<DeliveryRow, 'tries' | 'ended_at'>

const writeOutcome = hot<OutcomeRow, object>((db, arg) =>
  db
    .updateTable('delivery')
    .set({
      state: arg('state'),
      attempts: arg('attempts'),
      due_at: arg('due_at'),
      batch: null,
      tries: arg('tries'),
      ended_at: arg('ended_at'),
    })
    .where('subscription_id', '=', arg('subscription_id'))
    .where('position', '=', arg('position'))
    .where('state', '=', 'PENDING')
    .where((eb) =>
      eb.or([eb(eb('attempts', '+', 1), '=', arg('attempts')), sql<boolean>`${arg('state')} = 'DELIVERED'`]),
    ),
)

/**
 * After an attempt. One that was given up meanwhile stays so, and a failure that comes late takes back no attempt that
 * another node has made since.
 */
export async function recordOutcome(tx: Tx, made: Outcome): Promise<void> {
  await writeOutcome(tx, {
    subscription_id: made.subscriptionId,
    position: made.position,
    state: made.state,
    attempts: made.attempts,
    due_at: made.dueAt,
    tries: JSON.stringify(made.tries.slice(-TRIES_KEPT)),
    ended_at: made.state === 'PENDING' ? null : made.at,
  })
}

/** Puts these into one mail and names it before it is sent. After a crash the same mail is sent again. */
export async function setBatch(
  tx: Tx,
  subscriptionId: string,
  positions: readonly number[],
  batch: string,
): Promise<void> {
  for (const some of batches(positions))
    await tx
      .updateTable('delivery')
      .set({ batch })
      .where('subscription_id', '=', subscriptionId)
      .where('position', 'in', some)
      .execute()
}

/** What waits for a time after that one is due now, in its order: the endpoint answers again, or the clock was set back. */
export async function releaseWaiting(
  tx: Tx,
  subscriptionId: string,
  { after, now }: { after: number; now: number },
): Promise<void> {
  await tx
    .updateTable('delivery')
    .set({ due_at: now })
    .where('subscription_id', '=', subscriptionId)
    .where(isPending)
    .where('due_at', '>', after)
    .execute()
}

/** Gives up what a subscription has not been told when it is switched off. */
export async function giveUpWaiting(tx: Tx, subscriptionId: string, now: number): Promise<void> {
  await tx
    .updateTable('delivery')
    .set({ state: 'FAILED', ended_at: now })
    .where('subscription_id', '=', subscriptionId)
    .where(isPending)
    .execute()
}

/** From the beginning, whatever became of it. False: there is none. */
export async function sendAgain(
  tx: Tx,
  key: { subscriptionId: string; position: number },
  now: number,
): Promise<boolean> {
  const done = await tx
    .updateTable('delivery')
    .set({ state: 'PENDING', attempts: 0, due_at: now, batch: null, ended_at: null })
    .where('subscription_id', '=', key.subscriptionId)
    .where('position', '=', key.position)
    .executeTakeFirst()
  return done.numUpdatedRows === 1n
}

function toDelivery(row: DeliveryRow): Delivery {
  return {
    subscriptionId: row.subscription_id,
    position: row.position,
    lane: row.lane,
    state: row.state as DeliveryState, // written by this file alone
    attempts: row.attempts,
    dueAt: row.due_at,
    batch: row.batch,
    tries: JSON.parse(row.tries) as Try[],
    endedAt: row.ended_at,
  }
}
