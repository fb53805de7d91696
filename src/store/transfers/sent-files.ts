// What was sent before, by name and content. allowSendDuplicateFiles and watched folders need it.

import { sql } from 'kysely'
import { hot } from '../database/prepared-queries.ts'
import type { Arg } from '../database/prepared-queries.ts'
import type { Db, Tx } from '../database/store.ts'

/** Hashes of the files with that name and size that were sent with success on the channel. */
export async function sentHashes(db: Db, code: string, name: string, size: number): Promise<string[]> {
  const rows = await db
    .selectFrom('sent_file')
    .select('hash')
    .where('channel_code', '=', code)
    .where('name', '=', name)
    .where('size', '=', size)
    .execute()
  return rows.map((row) => row.hash)
}

export type SentFile = { channelCode: string; name: string; hash: string; size: number }

export async function rememberSent(tx: Tx, file: SentFile): Promise<void> {
  await insertSent(tx, file)
}

const insertSent = hot((db, arg: Arg<SentFile>) =>
  db
    .insertInto('sent_file')
    .values({ channel_code: arg('channelCode'), name: arg('name'), hash: arg('hash'), size: arg('size') })
    .onConflict((conflict) => conflict.doNothing()),
)

export type LastSent = 'before' | 'since' | 'unknown'

/**
 * When the channel last sent the file, by the order of its list: since this transfer or before it, which holds for what
 * the transfer itself sent too. Unknown where the memory alone tells of it, as after a restore.
 */
export async function lastSent(
  db: Db,
  { channelCode, name, hash, size }: SentFile,
  transferId: string,
): Promise<LastSent> {
  const row = await lastSending(db, { channelCode, name, hash, size, transferId }).executeTakeFirst()
  return row === undefined ? 'unknown' : row.since === 1 ? 'since' : 'before'
}

/** SQLite takes the tables of a cross join in their order: few files have the hash, and the channel may have sent millions. */
export function lastSending(db: Db, file: SentFile & { transferId: string }) {
  const asked = db.selectFrom('transfer').select('position').where('id', '=', file.transferId)
  return db
    .selectFrom('transfer_file')
    .crossJoin('transfer')
    .select(sql<number>`case when transfer.position > ${asked} then 1 else 0 end`.as('since'))
    .where('transfer_file.hash', '=', file.hash)
    .where('transfer_file.name', '=', file.name)
    .where('transfer_file.size', '=', file.size)
    .where('transfer_file.phase', 'in', ['ARRIVED', 'DONE'])
    .whereRef('transfer.id', '=', 'transfer_file.transfer_id')
    .where('transfer.channel_code', '=', file.channelCode)
    .where('transfer.direction', '=', 'EMISION')
    .orderBy('transfer.position', 'desc')
    .limit(1)
}

export type FileAsItLies = { path: string; size: number; modifiedAt: number }

/** Whether a transfer of the channel, listed since then, sent the file as it is now: same path, size and time. */
export async function wasSentSince(
  db: Db,
  code: string,
  file: FileAsItLies,
  since: number,
): Promise<boolean> {
  const row = await db
    .selectFrom('transfer')
    .innerJoin('transfer_file', 'transfer_file.transfer_id', 'transfer.id')
    .select('transfer.id')
    .where('transfer.channel_code', '=', code)
    .where('transfer.listed_at', '>=', since)
    .where('transfer_file.path', '=', file.path)
    .where('transfer_file.size', '=', file.size)
    .where('transfer_file.modified_at', '=', file.modifiedAt)
    .where('transfer_file.phase', 'in', ['ARRIVED', 'DONE'])
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
