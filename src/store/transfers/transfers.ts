// Transfers and their files. The only code that writes a transfer's `state`, always as a compare-and-set.
//
// Lists: `position` is a transfer's rank in its channel by (listed_at, id), kept without a gap, so any page and any
// span of days is a range of positions, found in a few index steps whatever the table's size, and totals are exact
// without counting. Rows move only when their listed_at changes (a start) and that shifts just the few rows between.

import { LRUCache } from 'lru-cache'
import type { TransferDirection, TransferStatus, TransferType } from '../../contract/transfer.ts'
import { ACTIVE, isOver, mayMove } from '../../domain/transfer.ts'
import type { FilePhase, ReceiptState, TransferFileRecord, TransferRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { batches } from '../database/batches.ts'
import { hot } from '../database/prepared-queries.ts'
import { isUniqueViolation } from '../database/driver-errors.ts'
import { countEnd, noteError } from './transfer-stats.ts'
import type { Db, Tx } from '../database/open.ts'
import type { TransferFileRow, TransferRow } from '../database/tables.ts'

export type NewTransfer = {
  id: string
  channelCode: string
  direction: TransferDirection
  type: TransferType
  requestedBy: string | null
  retryOf: string | null
  now: number
  files: readonly TransferFileRecord[]
}

/** Makes a PENDING transfer. The unique index refuses a second active one in the same direction: a conflict. */
export async function insertTransfer(tx: Tx, made: NewTransfer): Promise<void> {
  const row: TransferRow = {
    id: made.id,
    channel_code: made.channelCode,
    direction: made.direction,
    state: 'PENDING',
    type: made.type,
    encryption: 0,
    error: null,
    error_code: null,
    requested_by: made.requestedBy,
    requested_at: made.now,
    started_at: null,
    ended_at: null,
    listed_at: made.now,
    position: await makeRoom(tx, made.channelCode, made.now, made.id),
    retry_of: made.retryOf,
    settled: 0,
    attempts: 0,
    due_at: made.now,
    lease_owner: null,
    lease_until: null,
    receipts_until: null,
    fence: 0,
    snapshot: null,
    output: null,
  }
  try {
    await tx.insertInto('transfer').values(row).execute()
  } catch (thrown) {
    if (!isUniqueViolation(thrown)) throw thrown
    const which = made.direction === 'EMISION' ? 'an emission' : 'a reception'
    throw new NodeError(
      'conflict',
      `${which} of channel ${made.channelCode} is already pending or in progress`,
      { cause: thrown },
    )
  }
  await insertFiles(tx, made.id, made.files)
}

export async function insertFiles(
  tx: Tx,
  transferId: string,
  files: readonly TransferFileRecord[],
): Promise<void> {
  for (const some of batches(files))
    await tx
      .insertInto('transfer_file')
      .values(some.map((file) => fileToRow(transferId, file)))
      .execute()
}

/** The position for a new row at that time. Locks the channel's counters: writers of one channel take turns. */
async function makeRoom(tx: Tx, code: string, at: number, id: string): Promise<number> {
  const { transfer_count: count } = await tx
    .updateTable('channel_state')
    .set((eb) => ({ transfer_count: eb('transfer_count', '+', 1) }))
    .where('code', '=', code)
    .returning('transfer_count')
    .executeTakeFirstOrThrow()
  const position = (await lastBefore(tx, code, at, id)) + 1
  if (position < count) await shift(tx, code, { above: position - 1, by: 1 })
  return position
}

async function lastBefore(tx: Tx, code: string, at: number, id: string): Promise<number> {
  const row = await tx
    .selectFrom('transfer')
    .select('position')
    .where('channel_code', '=', code)
    .where((eb) => eb.or([eb('listed_at', '<', at), eb.and([eb('listed_at', '=', at), eb('id', '<', id)])]))
    .where('id', '!=', id)
    .orderBy('listed_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.position ?? 0
}

async function shift(
  tx: Tx,
  code: string,
  rows: { above: number; upTo?: number; by: 1 | -1 },
): Promise<void> {
  let query = tx
    .updateTable('transfer')
    .set((eb) => ({ position: eb('position', '+', rows.by) }))
    .where('channel_code', '=', code)
    .where('position', '>', rows.above)
  if (rows.upTo !== undefined) query = query.where('position', '<=', rows.upTo)
  await query.execute()
}

/** Written as it is: the lock on the counters is what counts. */
async function lockCounters(tx: Tx, code: string): Promise<void> {
  await tx
    .updateTable('channel_state')
    .set((eb) => ({ transfer_count: eb.ref('transfer_count') }))
    .where('code', '=', code)
    .execute()
}

/** A start moves the row to its new place in the list. The counters are locked: no other row moves meanwhile. */
async function relist(
  tx: Tx,
  row: { id: string; channel_code: string; position: number },
  at: number,
): Promise<void> {
  const before = await lastBefore(tx, row.channel_code, at, row.id)
  const position = before >= row.position ? before : before + 1
  if (position > row.position)
    await shift(tx, row.channel_code, { above: row.position, upTo: position, by: -1 })
  if (position < row.position)
    await shift(tx, row.channel_code, { above: before, upTo: row.position - 1, by: 1 })
  await tx.updateTable('transfer').set({ listed_at: at, position }).where('id', '=', row.id).execute()
}

export type Move = {
  from: TransferStatus
  to: TransferStatus
  now: number
  /** The claim under which the mover acts; a reset acts under none. */
  fence?: number
  error?: { message: string; code: string }
  encryption?: boolean
  dueAt?: number
  attempts?: number
}

/** The one compare-and-set. False: the row has left `from`, or another node holds it now. */
export async function moveTransfer(tx: Tx, id: string, move: Move): Promise<boolean> {
  if (!mayMove(move.from, move.to)) throw new Error(`a transfer cannot go from ${move.from} to ${move.to}`)
  const found = await tx.selectFrom('transfer').select('channel_code').where('id', '=', id).executeTakeFirst()
  if (!found) return false
  // Before the row itself: whoever shifts rows of the channel holds the counters and waits for rows.
  await lockCounters(tx, found.channel_code)
  const over = isOver(move.to)
  const changes: Partial<TransferRow> = {
    state: move.to,
    ...(over && { ended_at: move.now, snapshot: null }),
    ...(move.to !== 'IN_PROGRESS' && { lease_owner: null, lease_until: null }),
    ...(move.error && { error: move.error.message, error_code: move.error.code }),
    ...(move.encryption !== undefined && { encryption: move.encryption ? 1 : 0 }),
    ...(move.dueAt !== undefined && { due_at: move.dueAt }),
    ...(move.attempts !== undefined && { attempts: move.attempts }),
  }
  let query = tx.updateTable('transfer').set(changes).where('id', '=', id).where('state', '=', move.from)
  if (move.fence !== undefined) query = query.where('fence', '=', move.fence)
  const moved = await query.returning(['id', 'channel_code', 'position', 'started_at']).executeTakeFirst()
  if (moved && move.to === 'IN_PROGRESS' && moved.started_at === null) {
    await tx.updateTable('transfer').set({ started_at: move.now }).where('id', '=', id).execute()
    await relist(tx, moved, move.now)
  }
  if (moved && over)
    await countEnd(tx, { id, channelCode: moved.channel_code, endedAt: move.now, state: move.to })
  return moved !== undefined
}

/** Marks a failure as dealt with (retried or reset). False: it was already. */
export async function settle(tx: Tx, id: string): Promise<boolean> {
  const done = await tx
    .updateTable('transfer')
    .set({ settled: 1 })
    .where('id', '=', id)
    .where('settled', '=', 0)
    .returning('channel_code')
    .executeTakeFirst()
  if (done) await noteError(tx, done.channel_code)
  return done !== undefined
}

// Reading

type ByCode = { code: string }
type ActiveRow = { id: string; direction: string; state: string }

const activeOf = hot<ByCode, ActiveRow>((db, arg) =>
  db
    .selectFrom('transfer')
    .select(['id', 'direction', 'state'])
    .where('channel_code', '=', arg('code'))
    .where('state', 'in', ACTIVE),
)
const lastOf = hot<ByCode, TransferRow>((db, arg) =>
  db
    .selectFrom('transfer')
    .selectAll()
    .where('channel_code', '=', arg('code'))
    .where('ended_at', 'is not', null)
    .orderBy('ended_at', 'desc')
    .orderBy('position', 'desc')
    .limit(1),
)

export type Active = { id: string; direction: TransferDirection; state: TransferStatus }

export async function activeTransfers(db: Db, code: string): Promise<Active[]> {
  return (await activeOf(db, { code })) as Active[] // closed lists, written above alone
}

/** The transfer of the channel that ended last, without its files. */
export async function lastEnded(db: Db, code: string): Promise<TransferRecord | undefined> {
  return (await lastOf(db, { code })).map((row) => toTransfer(row, []))[0]
}

const byId = hot<{ id: string }, TransferRow>((db, arg) =>
  db.selectFrom('transfer').selectAll().where('id', '=', arg('id')),
)
const filesById = hot<{ id: string }, TransferFileRow>((db, arg) =>
  db.selectFrom('transfer_file').selectAll().where('transfer_id', '=', arg('id')).orderBy('idx'),
)

export async function findTransfer(db: Db, id: string): Promise<TransferRecord | undefined> {
  if (id.includes('\0')) return undefined
  const [row] = await byId(db, { id })
  return row && toTransfer(row, await filesById(db, { id }))
}

type Span = { code: string; from: number; to: number }

const countOf = hot<ByCode, { transfer_count: number }>((db, arg) =>
  db.selectFrom('channel_state').select('transfer_count').where('code', '=', arg('code')),
)
const firstAt = hot<{ code: string; at: number }, { position: number }>((db, arg) =>
  db
    .selectFrom('transfer')
    .select('position')
    .where('channel_code', '=', arg('code'))
    .where('listed_at', '>=', arg('at'))
    .orderBy('listed_at')
    .orderBy('id')
    .limit(1),
)
const between = hot<Span, { id: string; state: string }>((db, arg) =>
  db
    .selectFrom('transfer')
    .select(['id', 'state'])
    .where('channel_code', '=', arg('code'))
    .where('position', '>=', arg('from'))
    .where('position', '<=', arg('to'))
    .orderBy('position', 'desc'),
)

export type TransferPage = {
  offset: number
  size: number
  from?: number | undefined
  before?: number | undefined
}

/** Newest first; `from` and `before` bound listed_at, the first included, the second not. */
export async function pageOfTransfers(db: Db, code: string, asked: TransferPage) {
  const count = (await countOf(db, { code }))[0]?.transfer_count ?? 0
  const low = asked.from === undefined ? 1 : await rankOf(db, code, asked.from, count)
  const high = asked.before === undefined ? count : (await rankOf(db, code, asked.before, count)) - 1
  const total = Math.max(0, high - low + 1)
  const to = high - asked.offset
  if (to < low) return { total, transfers: [] }
  const span = { code, from: Math.max(low, to - asked.size + 1), to }
  const listed = (await between(db, span)) as Listed[]
  let transfers = pages.get(listed)
  if (!transfers) pages.set(listed, (transfers = await readTransfers(db, listed)))
  return { total, transfers }
}

/** Position of the first transfer listed at or after that time; one past the last if there is none. */
async function rankOf(db: Db, code: string, at: number, count: number): Promise<number> {
  return (await firstAt(db, { code, at }))[0]?.position ?? count + 1
}

type Listed = { id: string; state: TransferStatus }

// SQLite answers with the same rows while nothing changes.
const pages = new WeakMap<readonly Listed[], readonly TransferRecord[]>()

// A transfer that is over stays as it is (but for `settled`, which lists do not show): it is read once and kept.
const over = new LRUCache<string, TransferRecord>({ max: 20_000 })

async function readTransfers(db: Db, listed: readonly Listed[]): Promise<TransferRecord[]> {
  const known = listed.map(({ id, state }) => (isOver(state) ? over.get(id) : undefined))
  const missing = listed.filter((_, index) => known[index] === undefined).map(({ id }) => id)
  const read = new Map<string, TransferRecord>()
  for (const some of batches(missing))
    for (const transfer of await transfersById(db, some)) {
      read.set(transfer.id, transfer)
      if (isOver(transfer.state)) over.set(transfer.id, transfer)
    }
  return listed.flatMap(({ id }, index) => known[index] ?? read.get(id) ?? [])
}

async function transfersById(db: Db, ids: readonly string[]): Promise<TransferRecord[]> {
  const rows = await db.selectFrom('transfer').selectAll().where('id', 'in', ids).execute()
  const files = await db
    .selectFrom('transfer_file')
    .selectAll()
    .where('transfer_id', 'in', ids)
    .orderBy('idx')
    .execute()
  const byTransfer = Map.groupBy(files, (file) => file.transfer_id)
  return rows.map((row) => toTransfer(row, byTransfer.get(row.id) ?? []))
}

export function toTransfer(row: TransferRow, files: TransferFileRow[]): TransferRecord {
  return {
    id: row.id,
    channelCode: row.channel_code,
    direction: row.direction as TransferDirection, // closed lists, written by this file alone
    state: row.state as TransferStatus,
    type: row.type as TransferType,
    encryption: row.encryption === 1,
    error: row.error,
    requestedAt: row.requested_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    retryOf: row.retry_of,
    settled: row.settled === 1,
    attempts: row.attempts,
    dueAt: row.due_at,
    receiptsUntil: row.receipts_until,
    fence: row.fence,
    files: files.map(toFile),
  }
}

export function toFile(row: TransferFileRow): TransferFileRecord {
  return {
    index: row.idx,
    directory: row.directory,
    name: row.name,
    path: row.path,
    size: row.size,
    modifiedAt: row.modified_at,
    hash: row.hash,
    phase: row.phase as FilePhase,
    position: row.position,
    keyName: row.key_name,
    keyDate: row.key_date,
    keyTime: row.key_time,
    stagedPath: row.staged_path,
    wireHash: row.wire_hash,
    receipt: row.receipt as ReceiptState,
    actionPost: row.action_post,
    pathPost: row.path_post,
  }
}

export function fileToRow(transferId: string, file: TransferFileRecord): TransferFileRow {
  return {
    transfer_id: transferId,
    idx: file.index,
    directory: file.directory,
    name: file.name,
    path: file.path,
    size: file.size,
    modified_at: file.modifiedAt,
    hash: file.hash,
    phase: file.phase,
    position: file.position,
    key_name: file.keyName,
    key_date: file.keyDate,
    key_time: file.keyTime,
    staged_path: file.stagedPath,
    wire_hash: file.wireHash,
    receipt: file.receipt,
    action_post: file.actionPost,
    path_post: file.pathPost,
  }
}

// Duplicates

/** Hashes under which a file of that name and size was sent with success on the channel. */
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
