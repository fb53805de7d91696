// Transfers and their files. The only code that writes a transfer's `state`, always as a compare-and-set.

import { sql } from 'kysely'
import type { TransferDirection, TransferStatus, TransferType } from '../../contract/transfer.ts'
import { isOver, mayMove } from '../../domain/transfer.ts'
import type { TransferFileRecord, TransferRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { notBefore } from '../database/not-before.ts'
import { hot, hotInsert } from '../database/prepared-queries.ts'
import type { Arg } from '../database/prepared-queries.ts'
import { isUniqueViolation } from '../database/driver-errors.ts'
import { tellMove, tellRequest } from '../events/told.ts'
import { lockCounters, makeRoom, relist } from './list-positions.ts'
import { FILE_COLUMNS, fileToRow, toTransfer, withFiles } from './transfer-rows.ts'
import { countEnd } from './transfer-stats.ts'
import type { Db, Tx } from '../database/store.ts'
import type { TransferFileRow, TransferRow } from '../database/tables.ts'
import { isActive } from './active.ts'
import { withdrawFromOutbox } from './outbox.ts'

export type NewTransfer = {
  id: string
  channelCode: string
  direction: TransferDirection
  type: TransferType
  requestedBy: string | null
  retryOf: string | null
  /** Why somebody asked for it, in their words. */
  comment?: string | undefined
  /** The completed transfer whose files it sends once more. */
  resendOf?: string | undefined
  now: number
  files: readonly TransferFileRecord[]
}

/** Inserts a PENDING transfer. A unique index refuses a second active one in the same direction: that is a conflict. */
export async function insertTransfer(tx: Tx, made: NewTransfer): Promise<TransferRecord> {
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
    comment: made.comment ?? null,
    resend_of: made.resendOf ?? null,
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
  await tellRequest(tx, row)
  return withFiles(row, [...made.files])
}

export async function insertFiles(
  tx: Tx,
  transferId: string,
  files: readonly TransferFileRecord[],
): Promise<void> {
  const rows = files.map((file) => fileToRow(transferId, file))
  await insertFileRows(tx, rows)
}

const insertFileRows = hotInsert('transfer_file', FILE_COLUMNS)

export type Move = {
  from: TransferStatus
  to: TransferStatus
  now: number
  /** The fence of the claim. A reset has none. */
  fence?: number
  /** Null: what was noted is over. */
  error?: { message: string; code: string } | null
  encryption?: boolean
  dueAt?: number
  attempts?: number
}

const channelOf = hot((db, arg: Arg<{ id: string }>) =>
  db.selectFrom('transfer').select('channel_code').where('id', '=', arg('id')),
)
const startAt = hot((db, arg: Arg<{ id: string; now: number }>) =>
  db
    .updateTable('transfer')
    .set({ started_at: arg('now') })
    .where('id', '=', arg('id')),
)

/**
 * The one compare-and-set. False: the row has left `from`, or another node holds it now. With a failure or a cancellation
 * what lies ready for a partner who calls, and is not handed over, is hidden, whatever becomes of this node.
 */
export async function moveTransfer(tx: Tx, id: string, move: Move): Promise<boolean> {
  if (!mayMove(move.from, move.to)) throw new Error(`a transfer cannot go from ${move.from} to ${move.to}`)
  const [found] = await channelOf(tx, { id })
  if (!found) return false
  // Before the row itself: a transaction that shifts rows of the channel holds the counters and then waits for rows.
  await lockCounters(tx, found.channel_code)
  const over = isOver(move.to)
  const changes: Partial<TransferRow> = {
    state: move.to,
    ...(over && { snapshot: null }),
    ...(move.to !== 'IN_PROGRESS' && { lease_owner: null, lease_until: null }),
    ...(move.error !== undefined && {
      error: move.error?.message ?? null,
      error_code: move.error?.code ?? null,
    }),
    ...(move.encryption !== undefined && { encryption: move.encryption ? 1 : 0 }),
    ...(move.dueAt !== undefined && { due_at: move.dueAt }),
    ...(move.attempts !== undefined && { attempts: move.attempts }),
  }
  const ended = over && { ended_at: notBefore(move.now, sql.ref('started_at')) }
  let query = tx
    .updateTable('transfer')
    .set({ ...changes, ...ended })
    .where('id', '=', id)
    .where('state', '=', move.from)
  if (move.fence !== undefined) query = query.where('fence', '=', move.fence)
  const moved = await query
    .returning([
      'id',
      'channel_code',
      'position',
      'started_at',
      'ended_at',
      'direction',
      'type',
      'requested_by',
    ])
    .executeTakeFirst()
  if (!moved) return false
  const now = moved.ended_at ?? move.now
  const begins = move.to === 'IN_PROGRESS' && moved.started_at === null
  if (begins) {
    await startAt(tx, { id, now: move.now })
    await relist(tx, moved, move.now)
  }
  if (move.to === 'FAILED' || move.to === 'CANCELLED') await withdrawFromOutbox(tx, id)
  if (over) await countEnd(tx, { id, channelCode: moved.channel_code, endedAt: now, state: move.to })
  if (begins || over) await tellMove(tx, moved, { ...move, now })
  return true
}

// Reading

type ByCode = { code: string }
type ActiveRow = { id: string; direction: string; state: string }

const activeOf = hot<ByCode, ActiveRow>((db, arg) =>
  db
    .selectFrom('transfer')
    .select(['id', 'direction', 'state'])
    .where('channel_code', '=', arg('code'))
    .where(isActive),
)
export type Active = { id: string; direction: TransferDirection; state: TransferStatus }

export async function activeTransfers(db: Db, code: string): Promise<Active[]> {
  return (await activeOf(db, { code })) as Active[] // closed lists, written above alone
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

/** Cancelled, or removed with its channel. */
export async function wasCancelled(db: Db, id: string): Promise<boolean> {
  const row = await db.selectFrom('transfer').select('state').where('id', '=', id).executeTakeFirst()
  return row === undefined || row.state === 'CANCELLED'
}

const encrypted = hot((db, arg: Arg<{ id: string }>) =>
  db.updateTable('transfer').set({ encryption: 1 }).where('id', '=', arg('id')),
)

export async function markEncrypted(tx: Tx, id: string): Promise<void> {
  await encrypted(tx, { id })
}

/** For a fetch that begins again: the partner offers these files again. */
export async function removeUnfinishedFiles(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('transfer_file').where('transfer_id', '=', id).where('phase', '=', 'MOVING').execute()
}
