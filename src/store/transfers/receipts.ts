// Receipts: those that are owed for received files, and those that sent ones wait for.

import { sql } from 'kysely'
import { isActive } from './active.ts'
import type { Db, Tx } from '../database/store.ts'
import { newId } from '../database/ids.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Arg } from '../database/prepared-queries.ts'
import type { Tables } from '../database/tables.ts'
import { isDelivered, tellFile } from '../events/told.ts'

/** The receipt's content is the engine's; it is stored as it was given. */
export async function oweReceipt(tx: Tx, contactId: string, receipt: object, now: number): Promise<void> {
  const row = {
    id: newId(now),
    contact_id: contactId,
    body: JSON.stringify(receipt),
    created_at: now,
    delivered_at: null,
  }
  await insertOwed(tx, row)
}

const insertOwed = hot((db, arg: Arg<Tables['owed_receipt']>) =>
  db.insertInto('owed_receipt').values({
    id: arg('id'),
    contact_id: arg('contact_id'),
    body: arg('body'),
    created_at: arg('created_at'),
    delivered_at: arg('delivered_at'),
  }),
)

/** Each session that may tell some reads them, and they share them: many small pages would be read in vain. */
const PAGE = 1000

/** Oldest first, in pages: each begins behind the last row of the one before, and one without rows is the end. */
export async function* receiptsOwed(db: Db, contactId: string) {
  let last = { createdAt: -1, id: '' }
  for (;;) {
    const page = await undelivered(db, { contactId, ...last })
    yield page
    const end = page.at(-1)
    if (!end) return
    last = { createdAt: end.created_at, id: end.id }
  }
}

const undelivered = hot((db, arg: Arg<{ contactId: string; createdAt: number; id: string }>) =>
  db
    .selectFrom('owed_receipt')
    .select(['id', 'body', 'created_at'])
    .where('contact_id', '=', arg('contactId'))
    .where('delivered_at', 'is', null)
    .where('created_at', '>=', arg('createdAt'))
    .where((eb) => eb.or([eb('created_at', '>', arg('createdAt')), eb('id', '>', arg('id'))]))
    .orderBy('created_at')
    .orderBy('id')
    .limit(PAGE),
)

/** Partners who have waited for a receipt since before that time. */
export async function contactsOwed(db: Db, before: number): Promise<string[]> {
  const rows = await db
    .selectFrom('owed_receipt')
    .select('contact_id')
    .distinct()
    .where('delivered_at', 'is', null)
    .where('created_at', '<', before)
    .limit(100)
    .execute()
  return rows.map((row) => row.contact_id)
}

const owing = hot<object, { contact_id: string; code: string }>((db) =>
  db
    .selectFrom('transfer')
    .innerJoin('channel', 'channel.code', 'transfer.channel_code')
    .select(['channel.contact_id', 'channel.code'])
    .where(isActive)
    .where('transfer.receipts_until', 'is not', null),
)

/** Partners whose receipts transfers wait for, with the channels of those. */
export async function contactsOwing(db: Db): Promise<Map<string, string[]>> {
  const found = Map.groupBy(await owing(db, {}), (row) => row.contact_id)
  return new Map([...found].map(([contactId, rows]) => [contactId, rows.map(({ code }) => code)]))
}

export async function receiptsDelivered(tx: Tx, ids: readonly string[], now: number): Promise<void> {
  await Promise.all(ids.map(async (id) => receiptDelivered(tx, { id, now })))
}

const receiptDelivered = hot((db, arg: Arg<{ id: string; now: number }>) =>
  db
    .updateTable('owed_receipt')
    .set({ delivered_at: arg('now') })
    .where('id', '=', arg('id')),
)

/** The counter of a time that came without one: levels before 1.4 have none, and ours begin with 1. */
const NO_COUNTER = '0000'

/**
 * Sent files that a receipt may be about, by date and time, the oldest first. The caller compares the name, as the
 * protocol spells it. Those of transfers that gave up waiting are among them.
 */
export async function awaitingReceipt(db: Db, contactId: string, date: string, time: string) {
  const second = time.slice(0, 6)
  const [first, last] = time === second + NO_COUNTER ? [time, `${second}9999`] : [time, time]
  return awaiting(db, { contactId, date, first, last })
}

/** In the text, for the index that holds these alone. */
const IS_AWAITED = sql<boolean>`transfer_file.receipt = 'AWAITED'`

const awaiting = hot(
  (db, arg: Arg<{ contactId: string; date: string; first: string; last: string }>) =>
    db
      .selectFrom('transfer_file')
      .innerJoin('transfer', 'transfer.id', 'transfer_file.transfer_id')
      .innerJoin('channel', 'channel.code', 'transfer.channel_code')
      .select([
        'transfer_file.transfer_id',
        'transfer_file.idx',
        'transfer_file.name',
        'transfer_file.wire_hash',
        'transfer.channel_code',
        'transfer.snapshot',
        'transfer.state',
        'transfer.error',
        'transfer.settled',
      ])
      .where('channel.contact_id', '=', arg('contactId'))
      .where(IS_AWAITED)
      .where('transfer_file.key_date', '=', arg('date'))
      .where('transfer_file.key_time', '>=', arg('first'))
      .where('transfer_file.key_time', '<=', arg('last'))
      .orderBy('transfer_file.key_time')
      .orderBy('transfer_file.transfer_id'),
  'once',
)

export type Verdict = { state: 'POSITIVE' | 'NEGATIVE'; reason: string | null }

/** Records the receipt and makes the transfer due at once, so that a node goes on with it. */
export async function recordReceipt(
  tx: Tx,
  transferId: string,
  index: number,
  verdict: Verdict,
  now: number,
): Promise<void> {
  const file = await putReceipt(tx, transferId, index, verdict, now)
  // One that comes before the line itself has confirmed the file is told with that.
  if (file && isDelivered(file)) await tellFile(tx, file, now)
  // One that waits for its next attempt, because the line broke after the file, still waits for that.
  await tx
    .updateTable('transfer')
    .set({ due_at: now })
    .where('id', '=', transferId)
    .where('state', '=', 'IN_PROGRESS')
    .execute()
}

async function putReceipt(tx: Tx, transferId: string, index: number, verdict: Verdict, now: number) {
  return tx
    .updateTable('transfer_file')
    .set({ receipt: verdict.state, receipt_reason: verdict.reason, receipt_at: now })
    .where('transfer_id', '=', transferId)
    .where('idx', '=', index)
    .where('receipt', '=', 'AWAITED')
    .returningAll()
    .executeTakeFirst()
}

/**
 * A receipt for a transfer that is over: kept with the file, and told where the transfer says why it failed. False: somebody
 * has dealt with the failure since `settled` was read, and a retry may wait for the receipt now. Nothing is written then.
 */
export async function recordLateReceipt(
  tx: Tx,
  late: { transferId: string; index: number; error: string | null; settled: number },
  verdict: Verdict,
  now: number,
): Promise<boolean> {
  // Holds the row: a retry settles it before it looks which receipts are still awaited.
  const stands = await tx
    .updateTable('transfer')
    .set({ settled: late.settled })
    .where('id', '=', late.transferId)
    .where('settled', '=', late.settled)
    .returning('id')
    .executeTakeFirst()
  if (!stands) return false
  const file = await putReceipt(tx, late.transferId, late.index, verdict, now)
  if (file && late.error !== null) await addToError(tx, { ...late, error: late.error })
  return true
}

/** What was told of a failure, with what came to light since; not where somebody has dealt with it meanwhile. */
export async function addToError(
  tx: Tx,
  { transferId, error, settled }: { transferId: string; error: string; settled: number },
): Promise<void> {
  await tx
    .updateTable('transfer')
    .set({ error })
    .where('id', '=', transferId)
    .where('state', '=', 'FAILED')
    .where('settled', '=', settled)
    .execute()
}

/** For how many files of that transfer a receipt is still to come. */
export async function countAwaited(db: Db, transferId: string): Promise<number> {
  const { awaited } = await db
    .selectFrom('transfer_file')
    .select((eb) => eb.fn.countAll().as('awaited'))
    .where('transfer_id', '=', transferId)
    .where('receipt', '=', 'AWAITED')
    .executeTakeFirstOrThrow()
  return Number(awaited)
}

/** Whether a receipt is still to come for a file of that transfer that has arrived. */
export async function receiptsAwaited(db: Db, transferId: string): Promise<boolean> {
  const row = await db
    .selectFrom('transfer_file')
    .select('idx')
    .where('transfer_id', '=', transferId)
    .where('phase', '=', 'ARRIVED')
    .where('receipt', '=', 'AWAITED')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** `failure`: files of the transfer did not go. It waits for the receipts of the others, and fails by that. */
export async function setReceiptDeadline(
  tx: Tx,
  transferId: string,
  until: number,
  failure?: { code: string; message: string },
): Promise<void> {
  const noted = failure && { error: failure.message, error_code: failure.code }
  await tx
    .updateTable('transfer')
    .set({ receipts_until: until, ...noted })
    .where('id', '=', transferId)
    .execute()
}
