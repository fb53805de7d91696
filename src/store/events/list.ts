// Events as they are read: on from a position, by filter, of a channel.

import { hot } from '../database/prepared-queries.ts'
import type { Db, Tx } from '../database/store.ts'
import type { Tables } from '../database/tables.ts'
import type { EventRecord } from '../../domain/event.ts'
import { positionOf } from './event-id.ts'
import { lastPosition, toEvent } from './sequence.ts'

type Row = Tables['event']

const following = hot<{ after: number; limit: number }, Row>((db, arg) =>
  db
    .selectFrom('event')
    .selectAll()
    .where('position', '>', arg('after'))
    .orderBy('position')
    .limit(arg('limit')),
)
const last = hot<object, { position: number }>((db) =>
  db.selectFrom('event').select('position').orderBy('position', 'desc').limit(1),
)
const first = hot<object, { position: number }>((db) =>
  db.selectFrom('event').select('position').orderBy('position').limit(1),
)

const idAt = hot<{ position: number }, { id: string }>((db, arg) =>
  db.selectFrom('event').select('id').where('position', '=', arg('position')),
)

/** Less than every position: whoever goes on from here gets all that is kept, as after a gap. */
const BEFORE_ALL = -1

/**
 * Where somebody goes on who has read up to that event, which need not be kept any more. If another one stands in its place,
 * or its place has not been given out, the database is an older one than the reader knew: then from the beginning.
 */
export async function placeAfter(db: Db, id: string): Promise<number> {
  const position = positionOf(id) ?? BEFORE_ALL
  const [there] = await idAt(db, { position })
  if (there) return there.id === id ? position : BEFORE_ALL
  return position <= (await lastPosition(db)) ? position : BEFORE_ALL
}

/** Those after that position, the oldest first. */
export async function eventsAfter(db: Db, after: number, limit: number): Promise<EventRecord[]> {
  return (await following(db, { after, limit })).map(toEvent)
}

/** The positions of the oldest and the newest that are kept; 0 where there is none. */
export async function eventSpan(db: Db): Promise<{ first: number; last: number }> {
  return { first: (await first(db, {}))[0]?.position ?? 0, last: (await last(db, {}))[0]?.position ?? 0 }
}

export type EventFilter = {
  types?: readonly string[] | undefined
  channelCode?: string | undefined
  contactId?: string | undefined
  /** When they happened: from here on, and before there. */
  from?: number | undefined
  before?: number | undefined
}

/** On from a position, oldest first, or back from it, newest first; the position itself is not among them. */
export async function findEvents(
  db: Db,
  filter: EventFilter,
  asked: { order: 'asc' | 'desc'; beyond: number | undefined; limit: number },
): Promise<EventRecord[]> {
  if (filter.types?.length === 0) return []
  let query = db.selectFrom('event').selectAll().orderBy('position', asked.order).limit(asked.limit)
  if (asked.beyond !== undefined)
    query = query.where('position', asked.order === 'asc' ? '>' : '<', asked.beyond)
  if (filter.types) query = query.where('type', 'in', filter.types)
  if (filter.channelCode !== undefined) query = query.where('channel_code', '=', filter.channelCode)
  if (filter.contactId !== undefined) query = query.where('contact_id', '=', filter.contactId)
  if (filter.from !== undefined) query = query.where('at', '>=', filter.from)
  if (filter.before !== undefined) query = query.where('at', '<', filter.before)
  return (await query.execute()).map(toEvent)
}

/** Events of a channel that happened at that time or later. */
export async function eventsOfChannelSince(
  db: Db,
  channelCode: string,
  since: number,
): Promise<EventRecord[]> {
  const { from } = await db
    .selectFrom('event')
    .select((eb) => eb.fn.min('position').as('from'))
    .where('at', '>=', since)
    .executeTakeFirstOrThrow()
  if (from === null) return []
  const rows = await db
    .selectFrom('event')
    .selectAll()
    .where('channel_code', '=', channelCode)
    .where('position', '>=', from)
    .where('at', '>=', since)
    .orderBy('position')
    .execute()
  return rows.map(toEvent)
}

/** Happened before that, and waits for nobody: forgotten, with its deliveries. How many there were. */
export async function forgetEvents(tx: Tx, before: number, limit: number): Promise<number> {
  const rows = await tx
    .selectFrom('event')
    .select('position')
    .where('at', '<', before)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('delivery')
            .select('delivery.position')
            .whereRef('delivery.position', '=', 'event.position')
            .where('delivery.state', '=', 'PENDING'),
        ),
      ),
    )
    .orderBy('at')
    .limit(limit)
    .execute()
  if (rows.length === 0) return 0
  await tx
    .deleteFrom('event')
    .where(
      'position',
      'in',
      rows.map(({ position }) => position),
    )
    .execute()
  return rows.length
}
