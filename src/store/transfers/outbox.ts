// Files that lie ready for a partner who calls to take them.

import { DAY_MS } from '../../domain/time.ts'
import { batches } from '../database/batches.ts'
import { firstIdAt } from '../database/ids.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Db, Tx } from '../database/store.ts'
import { recordReceipt } from './receipts.ts'
import type { Tables } from '../database/tables.ts'

type OutboxFileRow = Tables['outbox_file']

export type OutboxFile = {
  id: string
  channelCode: string
  name: string
  path: string
  size: number
  modifiedAt: number
  transferId: string
  index: number
}

export async function waitingFiles(db: Db, channelCode: string, limit: number): Promise<OutboxFile[]> {
  const rows = await db
    .selectFrom('outbox_file')
    .selectAll()
    .where('channel_code', '=', channelCode)
    .where('taken_at', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toOutboxFile)
}

/** Of every channel. */
export async function allWaitingFiles(db: Db): Promise<OutboxFile[]> {
  const rows = await db
    .selectFrom('outbox_file')
    .selectAll()
    .where('taken_at', 'is', null)
    .orderBy('id')
    .execute()
  return rows.map(toOutboxFile)
}

/** How many files lie ready in each of these channels, where there are any. */
export async function countWaiting(
  db: Db,
  codes: readonly string[],
): Promise<{ channelCode: string; files: number }[]> {
  const counted: { channelCode: string; files: number }[] = []
  for (const some of batches(codes.toSorted())) {
    const rows = await db
      .selectFrom('outbox_file')
      .select(['channel_code', (eb) => eb.fn.countAll<number>().as('files')])
      .where('channel_code', 'in', some)
      .where('taken_at', 'is', null)
      .groupBy('channel_code')
      .orderBy('channel_code')
      .execute()
    counted.push(...rows.map((row) => ({ channelCode: row.channel_code, files: row.files })))
  }
  return counted
}

const byName = hot<{ channelCode: string; name: string }, OutboxFileRow>((db, arg) =>
  db
    .selectFrom('outbox_file')
    .selectAll()
    .where('channel_code', '=', arg('channelCode'))
    .where('name', '=', arg('name'))
    .where('taken_at', 'is', null),
)

export async function waitingFile(
  db: Db,
  channelCode: string,
  name: string,
): Promise<OutboxFile | undefined> {
  return (await byName(db, { channelCode, name })).map(toOutboxFile)[0]
}

export type OutboxKey = { channelCode: string; name: string; keyDate: string; keyTime: string }

/**
 * The transfer under which the partner took this very file: that of an earlier attempt, which died before it could note
 * that the file lay ready. Looked for among what was made since the day before its key, whatever the clock did meanwhile.
 */
export async function transferTakenBy(db: Db, key: OutboxKey): Promise<string | undefined> {
  const { channelCode, name, keyDate, keyTime } = key
  const day = Date.parse(keyDate.replace(/^(....)(..)(..)$/, '$1-$2-$3'))
  const row = await db
    .selectFrom('outbox_file')
    .innerJoin('transfer_file', (join) =>
      join
        .onRef('transfer_file.transfer_id', '=', 'outbox_file.transfer_id')
        .onRef('transfer_file.idx', '=', 'outbox_file.idx'),
    )
    .select('outbox_file.transfer_id')
    .where('outbox_file.id', '>=', firstIdAt(day - DAY_MS))
    .where('outbox_file.channel_code', '=', channelCode)
    .where('outbox_file.name', '=', name)
    .where('outbox_file.taken_at', 'is not', null)
    .where('transfer_file.key_date', '=', keyDate)
    .where('transfer_file.key_time', '=', keyTime)
    .executeTakeFirst()
  return row?.transfer_id
}

/** The unique index refuses a second waiting file of the same name. */
export async function addToOutbox(tx: Tx, file: OutboxFile): Promise<void> {
  await tx
    .insertInto('outbox_file')
    .values({
      id: file.id,
      channel_code: file.channelCode,
      name: file.name,
      path: file.path,
      size: file.size,
      modified_at: file.modifiedAt,
      transfer_id: file.transferId,
      idx: file.index,
      taken_at: null,
    })
    .execute()
}

/**
 * In the same transaction, the receipt that the transfer may be waiting for is recorded. False: it does not lie ready any
 * more, and nothing was recorded.
 */
export async function takeFromOutbox(tx: Tx, file: OutboxFile, now: number): Promise<boolean> {
  const taken = await tx
    .updateTable('outbox_file')
    .set({ taken_at: now })
    .where('id', '=', file.id)
    .where('taken_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
  if (!taken) return false
  await recordTaken(tx, file, now)
  return true
}

/** The partner has the file, whether it took it here or not. */
export async function recordTaken(
  tx: Tx,
  { transferId, index }: Pick<OutboxFile, 'transferId' | 'index'>,
  now: number,
): Promise<void> {
  await recordReceipt(tx, transferId, index, { state: 'POSITIVE', reason: null }, now)
}

export async function wasTaken(db: Db, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('outbox_file')
    .select('id')
    .where('id', '=', id)
    .where('taken_at', 'is not', null)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * The transfer failed or was cancelled: what nobody has taken of it is no longer offered, and has not been sent. What counts
 * as handed over because it lies there stays: its original may be gone.
 */
export async function withdrawFromOutbox(tx: Tx, transferId: string): Promise<void> {
  const files = tx
    .selectFrom('transfer_file')
    .select('idx')
    .where('transfer_id', '=', transferId)
    .where((eb) => eb.or([eb('receipt', '=', 'AWAITED'), eb('phase', 'in', ['WAITING', 'STAGED'])]))
  const withdrawn = await tx
    .deleteFrom('outbox_file')
    .where('transfer_id', '=', transferId)
    .where('taken_at', 'is', null)
    .where('idx', 'in', files)
    .returning('idx')
    .execute()
  for (const some of batches(withdrawn))
    await tx
      .updateTable('transfer_file')
      .set({ phase: 'STAGED', receipt: 'NONE', maybe_visible: 0, wire_hash: null, position: 0 })
      .where('transfer_id', '=', transferId)
      .where(
        'idx',
        'in',
        some.map(({ idx }) => idx),
      )
      .execute()
}

/** Where copies of the transfer's files lie, ready, held or taken. */
export async function outboxPaths(db: Db, transferId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('outbox_file')
    .select('path')
    .where('transfer_id', '=', transferId)
    .execute()
  return rows.map(({ path }) => path)
}

export function toOutboxFile(row: OutboxFileRow): OutboxFile {
  return {
    id: row.id,
    channelCode: row.channel_code,
    name: row.name,
    path: row.path,
    size: row.size,
    modifiedAt: row.modified_at,
    transferId: row.transfer_id,
    index: row.idx,
  }
}
