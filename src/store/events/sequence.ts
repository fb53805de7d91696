// Gives events their place. Committed events are moved from the outbox to `event`, in the order in which they were
// written, with the next positions. The row of the last position is locked meanwhile: several nodes take turns, and
// each event is moved once. When a position is visible, all before it are visible too. So a reader that goes on from
// the last position it saw misses nothing, although transactions may commit in another order than they write.

import { sql } from 'kysely'
import type { EventData, EventType } from '../../contract/event-types.ts'
import type { EventRecord } from '../../domain/event.ts'
import { batches } from '../database/batches.ts'
import { hotInsert } from '../database/prepared-queries.ts'
import type { Db, Dialect, Tx } from '../database/store.ts'
import type { Tables } from '../database/tables.ts'
import { makeEventId } from './event-id.ts'

const COUNTER = 'event_position'

/** Looks without a lock: an idle node must not write at every tick. */
export async function hasNewEvents(db: Db): Promise<boolean> {
  return (await db.selectFrom('event_outbox').select('at').limit(1).executeTakeFirst()) !== undefined
}

/** Moves up to `limit` events and returns them. Whatever else the transaction does with them is done once. */
export async function sequenceEvents(
  tx: Tx,
  dialect: Dialect,
  asked: { now: number; limit: number },
): Promise<EventRecord[]> {
  const last = await lockEvents(tx, dialect)
  const arrival = sql.ref<number>(dialect.arrivalOrder)
  const found = await tx
    .selectFrom('event_outbox')
    .select(['at', 'type', 'channel_code', 'contact_id', 'body'])
    .select(arrival.as('arrival'))
    .orderBy(arrival)
    .limit(asked.limit)
    .execute()
  if (found.length === 0) return []
  // The clock may have been set back; ids must not go back with it.
  const at = Math.max(asked.now, last.at)
  const contacts = await contactsOf(tx, found)
  const rows = found.map(({ arrival: _arrival, ...row }, index) => {
    const position = last.position + index + 1
    const contact = row.contact_id ?? contacts.get(row.channel_code ?? '') ?? null
    return { ...row, contact_id: contact, position, id: makeEventId(at, position) }
  })
  await insertEvents(tx, rows)
  for (const some of batches(found.map((row) => row.arrival)))
    await tx.deleteFrom('event_outbox').where(arrival, 'in', some).execute()
  const value = `${last.position + rows.length} ${at}`
  await tx.updateTable('meta').set({ value }).where('name', '=', COUNTER).execute()
  return rows.map(toEvent)
}

const insertEvents = hotInsert('event', [
  'at',
  'type',
  'channel_code',
  'contact_id',
  'body',
  'position',
  'id',
])

/** Until the transaction ends nobody else gives out positions, or decides what depends on them. */
export async function lockEvents(tx: Tx, dialect: Dialect): Promise<{ position: number; at: number }> {
  let query = tx.selectFrom('meta').select('value').where('name', '=', COUNTER)
  if (dialect.rowLocks) query = query.forUpdate()
  const { value } = await query.executeTakeFirstOrThrow()
  const [position = 0, at = 0] = value.split(' ').map(Number)
  return { position, at }
}

/** The last one that was given out, whether or not its event is kept. */
export async function lastPosition(db: Db): Promise<number> {
  const query = db.selectFrom('meta').select('value').where('name', '=', COUNTER)
  return Number((await query.executeTakeFirstOrThrow()).value.split(' ')[0])
}

/** More events than there are between a backup and its restore; an id has room for 4,000 such steps. */
const STEP = 2 ** 30

/** Positions may have been given out that this database does not know of: none of them is given out again. */
export async function skipPositions(tx: Tx, dialect: Dialect): Promise<void> {
  const { position, at } = await lockEvents(tx, dialect)
  await tx
    .updateTable('meta')
    .set({ value: `${position + STEP} ${at}` })
    .where('name', '=', COUNTER)
    .execute()
}

/** An event of a channel belongs to its partner too, as long as the channel is there. */
async function contactsOf(
  tx: Tx,
  rows: readonly { channel_code: string | null }[],
): Promise<Map<string, string>> {
  const codes = new Set(rows.flatMap((row) => row.channel_code ?? []))
  const contacts = new Map<string, string>()
  for (const some of batches([...codes]))
    for (const row of await tx
      .selectFrom('channel')
      .select(['code', 'contact_id'])
      .where('code', 'in', some)
      .execute())
      contacts.set(row.code, row.contact_id)
  return contacts
}

export function toEvent(row: Tables['event']): EventRecord {
  return {
    position: row.position,
    id: row.id,
    at: row.at,
    type: row.type as EventType, // written by addEvent alone, as is the body
    channelCode: row.channel_code,
    contactId: row.contact_id,
    data: JSON.parse(row.body) as EventData,
  }
}
