// Files that were received whole, and half files.

import { batches } from '../database/batches.ts'
import { nameKey } from './file-names.ts'
import type { Db, Tx } from '../database/store.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Arg } from '../database/prepared-queries.ts'

export type FileKey = { channelCode: string; name: string; date: string; time: string }

/** The same for the same file alone: what stands before the name holds no line's end. */
export function textOfKey({ channelCode, name, date, time }: FileKey): string {
  return `${channelCode}\n${date}\n${time}\n${name}`
}

function keyColumns(key: FileKey) {
  return { channel_code: key.channelCode, key_name: key.name, key_date: key.date, key_time: key.time }
}

const receivedFile = hot<FileKey, { transfer_id: string; size: number; wire_hash: string | null }>(
  (db, arg) =>
    db
      .selectFrom('received_file')
      .select(['transfer_id', 'size', 'wire_hash'])
      .where((eb) => eb.and(keyColumns(keyArguments(arg)))),
  'once',
)

function keyArguments(arg: Arg<FileKey>): FileKey {
  return { channelCode: arg('channelCode'), name: arg('name'), date: arg('date'), time: arg('time') }
}

/** `wireHash`: of the octets as they came, where it was recorded. */
export type ReceivedFile = { transferId: string; size: number; wireHash: string | null }

export async function findReceived(db: Db, key: FileKey): Promise<ReceivedFile | undefined> {
  const [row] = await receivedFile(db, key)
  return row && { transferId: row.transfer_id, size: row.size, wireHash: row.wire_hash }
}

/** For memories of earlier versions: the hash in the transfer's list, which is that of the file as it was put in place. */
export async function hashInList(
  db: Db,
  key: FileKey,
  { transferId }: ReceivedFile,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('transfer_file')
    .select(['hash', 'wire_hash'])
    .where('transfer_id', '=', transferId)
    .where('key_name', '=', key.name)
    .where('key_date', '=', key.date)
    .where('key_time', '=', key.time)
    .executeTakeFirst()
  return row?.wire_hash ?? row?.hash ?? undefined
}

export async function putReceived(tx: Tx, key: FileKey, received: ReceivedFile): Promise<void> {
  await insertReceived(tx, { ...key, ...received })
}

const insertReceived = hot<FileKey & ReceivedFile, unknown>((db, arg) =>
  db
    .insertInto('received_file')
    .values({
      ...keyColumns(keyArguments(arg)),
      transfer_id: arg('transferId'),
      size: arg('size'),
      wire_hash: arg('wireHash'),
    })
    .onConflict((conflict) => conflict.doNothing()),
)

export type HalfFile = { path: string; position: number }

export async function findHalfFile(db: Db, key: FileKey): Promise<HalfFile | undefined> {
  return (await halfFile(db, key))[0]
}

const halfFile = hot<FileKey, HalfFile>(
  (db, arg) =>
    db
      .selectFrom('partial_file')
      .select(['path', 'position'])
      .where((eb) => eb.and(keyColumns(keyArguments(arg)))),
  'once',
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
  await deleteHalfFile(tx, { ...key, path })
}

const deleteHalfFile = hot<FileKey & { path: string }, unknown>((db, arg) =>
  db
    .deleteFrom('partial_file')
    .where((eb) => eb.and(keyColumns(keyArguments(arg))))
    .where('path', '=', arg('path')),
)

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
