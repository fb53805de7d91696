// The events' outbox. An event is a row written in the same transaction as the change it tells of: no event is lost,
// and none tells of something that did not happen. It gets its place among the events later (sequence.ts), in the order
// of commits.

import type { EventData, EventType } from '../../contract/event-types.ts'
import { batches } from '../database/batches.ts'
import type { Tx } from '../database/store.ts'
import { hot } from '../database/prepared-queries.ts'

export type NewEvent = {
  [T in EventType]: {
    type: T
    at: number
    channelCode?: string | undefined
    contactId?: string | undefined
    /** Where it is about several: it is told to whoever watches any of them, and shown without them. */
    channels?: readonly string[] | undefined
    data: EventData<T>
  }
}[EventType]

type Row = {
  at: number
  type: string
  channel_code: string | null
  contact_id: string | null
  body: string
}

const insertOne = hot<Row, object>((db, arg) =>
  db.insertInto('event_outbox').values({
    at: arg('at'),
    type: arg('type'),
    channel_code: arg('channel_code'),
    contact_id: arg('contact_id'),
    body: arg('body'),
  }),
)

/** Told once the transaction is committed; never, if it is not. */
export async function addEvent(tx: Tx, event: NewEvent): Promise<void> {
  await insertOne(tx, toRow(event))
}

/** In the order given. */
export async function addEvents(tx: Tx, events: readonly NewEvent[]): Promise<void> {
  for (const some of batches(events)) await tx.insertInto('event_outbox').values(some.map(toRow)).execute()
}

function toRow({ at, type, channelCode, contactId, channels, data }: NewEvent): Row {
  return {
    at,
    type,
    channel_code: channelCode ?? null,
    contact_id: contactId ?? null,
    body: JSON.stringify({ ...data, channels }),
  }
}
