// Files that were received whole, half files, and the receipts that are owed for them.

import { batches } from '../database/batches.ts'
import { sql } from 'kysely'
import { isActive } from './active.ts'
import { nameKey } from './file-names.ts'
import type { Db, Tx } from '../database/store.ts'
import { newId } from '../database/ids.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Arg } from '../database/prepared-queries.ts'
import type { Tables } from '../database/tables.ts'
import { isDelivered, tellFile } from '../events/told.ts'

export type FileKey = { channelCode: string; name: string; date: string; time: string }

function keyColumns(key: FileKey) {
  return { channel_code: key.channelCode, key_name: key.name, key_date: key.date, key_time: key.time }
}

const receivedFile = hot<FileKey, { transfer_id: string; size: number }>((db, arg) =>
  db
    .selectFrom('received_file')
    .select(['transfer_id', 'size'])
    .where((eb) => eb.and(keyColumns(keyArguments(arg)))),
)

function keyArguments(arg: Arg<FileKey>): FileKey {
  return { channelCode: arg('channelCode'), name: arg('name'), date: arg('date'), time: arg('time') }
}

export async function findReceived(
  db: Db,
  key: FileKey,
): Promise<{ transferId: string; size: number } | undefined> {
  const [row] = await receivedFile(db, key)
  return row && { transferId: row.transfer_id, size: row.size }
}

export async function putReceived(tx: Tx, key: FileKey, transferId: string, size: number): Promise<void> {
  await insertReceived(tx, { ...key, transferId, size })
}

const insertReceived = hot<FileKey & { transferId: string; size: number }, unknown>((db, arg) =>
  db
    .insertInto('received_file')
    .values({ ...keyColumns(keyArguments(arg)), transfer_id: arg('transferId'), size: arg('size') })
    .onConflict((conflict) => conflict.doNothing()),
)

export type HalfFile = { path: string; position: number }

export async function findHalfFile(db: Db, key: FileKey): Promise<HalfFile | undefined> {
  return (await halfFile(db, key))[0]
}

const halfFile = hot<FileKey, HalfFile>((db, arg) =>
  db
    .selectFrom('partial_file')
    .select(['path', 'position'])
    .where((eb) => eb.and(keyColumns(keyArguments(arg)))),
)

export async function putHalfFile(tx: Tx, key: FileKey, half: HalfFile, now: number): Promise<void> {
  const row = { ...keyColumns(key), ...half, updated_at: now }
  await tx
    .insertInto('partial_file')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['channel_code', 'key_name', 'key_date', 'key_time']).doUpdateSet(row),
    )
    .execute()
}

/** Removes the half file at that path. Another try with the same key may have its own. */
export async function removeHalfFile(tx: Tx, key: FileKey, path: string): Promise<void> {
  await tx
    .deleteFrom('partial_file')
    .where((eb) => eb.and(keyColumns(key)))
    .where('path', '=', path)
    .execute()
}

/** Of channels that another partner has from now on, which must not see them. The files go as strays. */
export async function forgetHalfFiles(tx: Tx, codes: readonly string[]): Promise<void> {
  for (const some of batches(codes))
    await tx.deleteFrom('partial_file').where('channel_code', 'in', some).execute()
}

/** Half files of a channel whose keys have that date. */
export async function halfFilesOf(
  db: Db,
  channelCode: string,
  date: string,
): Promise<{ name: string; size: number }[]> {
  const rows = await db
    .selectFrom('partial_file')
    .select(['key_name', 'position'])
    .where('channel_code', '=', channelCode)
    .where('key_date', '=', date)
    .limit(1000)
    .execute()
  return rows.map((row) => ({ name: row.key_name, size: row.position }))
}

/** The octets that came of a file of that name, if it is here, or sure to be, and came since then. */
export async function receivedSince(
  db: Db,
  channelCode: string,
  name: string,
  since: number,
): Promise<number | undefined> {
  const row = await db
    .selectFrom('transfer_file')
    .innerJoin('transfer', 'transfer.id', 'transfer_file.transfer_id')
    .select('transfer_file.position')
    .where('transfer_file.name_key', '=', nameKey(name))
    .where('transfer_file.name', '=', name)
    .where('transfer_file.phase', 'in', ['WHOLE', 'PLACED', 'DONE'])
    .where('transfer.channel_code', '=', channelCode)
    .where('transfer.direction', '=', 'RECEPCION')
    .where((eb) => eb.or([eb('transfer.ended_at', 'is', null), eb('transfer.ended_at', '>=', since)]))
    .orderBy('transfer_file.transfer_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.position
}

const halfFilesOfContact = hot((db, arg: Arg<{ contactId: string }>) =>
  db
    .selectFrom('partial_file')
    .innerJoin('channel', 'channel.code', 'partial_file.channel_code')
    .select(['channel_code', 'key_name', 'key_date', 'key_time', 'position'])
    .where('channel.contact_id', '=', arg('contactId')),
)

/** Every half file that is kept for a partner, of all its channels. */
export async function keptHalfFilesOf(
  db: Db,
  contactId: string,
): Promise<{ key: FileKey; position: number }[]> {
  const rows = await halfFilesOfContact(db, { contactId })
  return rows.map((row) => ({
    key: { channelCode: row.channel_code, name: row.key_name, date: row.key_date, time: row.key_time },
    position: row.position,
  }))
}

/** Half files that nobody has continued for long. Removes their rows; the caller removes the files. */
export async function takeStaleHalfFiles(tx: Tx, before: number): Promise<string[]> {
  return (
    await tx.deleteFrom('partial_file').where('updated_at', '<', before).returning('path').execute()
  ).map((row) => row.path)
}

// Receipts

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
    .limit(1000),
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
  await Promise.all(ids.map((id) => receiptDelivered(tx, { id, now })))
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

const awaiting = hot((db, arg: Arg<{ contactId: string; date: string; first: string; last: string }>) =>
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
