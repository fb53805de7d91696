// What the database before a restored one knows of events: those that happened since the backup, and who has yet to be told of
// them.

import { sql } from 'kysely'
import { only } from '../after-restore.ts'
import type { Before } from '../after-restore.ts'
import { batches } from '../database/batches.ts'
import { columnsThere } from '../database/set-aside.ts'
import { loadRows, rowsOf } from '../database/snapshot.ts'
import type { Row } from '../database/snapshot.ts'
import type { Tx } from '../database/store.ts'
import { lastPosition } from './sequence.ts'

export async function bringEvents(tx: Tx, before: Before): Promise<void> {
  if (!before.tables.has('event')) return
  await bringStored(tx, before)
  await bringNew(tx, before)
  await bringDeliveries(tx, before)
}

/** Whoever has read up to a position must not find another event there. */
async function bringStored(tx: Tx, { db }: Before): Promise<void> {
  const columns = ['position', 'id', 'at', 'type', 'channel_code', 'contact_id', 'body'] as const
  const newest = await tx
    .selectFrom('event')
    .select((eb) => eb.fn.max('position').as('position'))
    .executeTakeFirst()
  const rows = await db
    .selectFrom('event')
    .select(columns)
    .where('position', '>', newest?.position ?? 0)
    .orderBy('position')
    .execute()
  for (const some of batches(rows)) await tx.insertInto('event').values(some).execute()
  const last = await db
    .selectFrom('meta')
    .select('value')
    .where('name', '=', 'event_position')
    .executeTakeFirstOrThrow()
  // Also where none has happened since: an earlier restore may have left positions out.
  if ((await lastPosition(db)) > (await lastPosition(tx)))
    await tx.updateTable('meta').set({ value: last.value }).where('name', '=', 'event_position').execute()
}

/** Those without a position yet. What waited for one when the backup was made has got it since, or still waits. */
async function bringNew(tx: Tx, { db, dialect }: Before): Promise<void> {
  const rows = await db
    .selectFrom('event_outbox')
    .select(['at', 'type', 'channel_code', 'contact_id', 'body'])
    .orderBy(sql.ref(dialect.arrivalOrder))
    .execute()
  await tx.deleteFrom('event_outbox').execute()
  for (const some of batches(rows)) await tx.insertInto('event_outbox').values(some).execute()
}

/** Of subscriptions that both databases have: made ones are not made again, and those that wait are not forgotten. */
async function bringDeliveries(tx: Tx, before: Before): Promise<void> {
  const ids = async (from: Before['db']) =>
    (await from.selectFrom('subscription').select('id').execute()).map(({ id }) => id)
  const theirs = new Set(await ids(before.db))
  const both = new Set((await ids(tx)).filter((id) => theirs.has(id)))
  for (const some of batches([...both]))
    await tx.deleteFrom('delivery').where('subscription_id', 'in', some).execute()
  const columns = await columnsThere(tx, before.dialect, 'delivery')
  for await (const rows of rowsOf(before.db, before.dialect, before.nameOf('delivery')))
    for (const some of batches(rows.filter((row) => both.has(String(row.subscription_id)))))
      await loadRows(tx, 'delivery', await ofKnownEvents(tx, some, columns))
}

async function ofKnownEvents(tx: Tx, rows: readonly Row[], columns: readonly string[]): Promise<Row[]> {
  const positions = rows.map((row) => Number(row.position))
  const known = await tx.selectFrom('event').select('position').where('position', 'in', positions).execute()
  const there = new Set(known.map(({ position }) => position))
  return rows.filter((row) => there.has(Number(row.position))).map((row) => only(row, columns))
}
