// Transfers and their files as rows, and as the rest of the program knows them.

import type { TransferDirection, TransferStatus, TransferType } from '../../contract/transfer.ts'
import type {
  FileContent,
  FilePhase,
  ReceiptState,
  TransferFileRecord,
  TransferRecord,
} from '../../domain/transfer.ts'
import type { TransferFileRow, TransferRow } from '../database/tables.ts'
import { nameKey } from './file-names.ts'

export function toTransfer(row: TransferRow, files: TransferFileRow[]): TransferRecord {
  return withFiles(row, files.map(toFile))
}

export function withFiles(row: TransferRow, files: TransferFileRecord[]): TransferRecord {
  return {
    id: row.id,
    channelCode: row.channel_code,
    direction: row.direction as TransferDirection, // closed lists, written by this folder alone
    state: row.state as TransferStatus,
    type: row.type as TransferType,
    encryption: row.encryption === 1,
    error: row.error,
    errorCode: row.error_code,
    requestedAt: row.requested_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    retryOf: row.retry_of,
    settled: row.settled === 1,
    attempts: row.attempts,
    dueAt: row.due_at,
    receiptsUntil: row.receipts_until,
    fence: row.fence,
    files,
  }
}

export function toFile(row: TransferFileRow): TransferFileRecord {
  const content = contentOf(row)
  return {
    index: row.idx,
    content,
    directory: content === 'CERTIFICATE' ? null : row.directory,
    name: row.name,
    path: row.path,
    size: row.size,
    modifiedAt: row.modified_at,
    hash: row.hash,
    phase: row.phase as FilePhase,
    position: row.position,
    maybeVisible: isMaybeVisible(row),
    keyName: row.key_name,
    keyDate: row.key_date,
    keyTime: row.key_time,
    stagedPath: row.staged_path,
    wireHash: row.wire_hash,
    receipt: row.receipt as ReceiptState,
    receiptReason: row.receipt_reason,
    receiptAt: row.receipt_at,
    actionPost: row.action_post,
    pathPost: row.path_post,
  }
}

/** The column takes no null. */
const NO_DIRECTORY = -1

// Nodes of 0.1 may be at work beside this one while they are replaced. They leave the two columns as they are by default,
// and say the same by others.

function contentOf({ content, directory }: TransferFileRow): FileContent {
  return content === 'CERTIFICATE' || directory === NO_DIRECTORY ? 'CERTIFICATE' : 'FILE'
}

function isMaybeVisible({
  maybe_visible: maybeVisible,
  phase,
  wire_hash: wireHash,
}: TransferFileRow): boolean {
  return maybeVisible === 1 || (phase === 'STAGED' && wireHash !== null)
}

export function fileToRow(transferId: string, file: TransferFileRecord): TransferFileRow {
  return {
    transfer_id: transferId,
    idx: file.index,
    content: file.content,
    directory: file.directory ?? NO_DIRECTORY,
    name: file.name,
    path: file.path,
    size: file.size,
    modified_at: file.modifiedAt,
    hash: file.hash,
    phase: file.phase,
    position: file.position,
    maybe_visible: file.maybeVisible ? 1 : 0,
    key_name: file.keyName,
    key_date: file.keyDate,
    key_time: file.keyTime,
    staged_path: file.stagedPath,
    wire_hash: file.wireHash,
    receipt: file.receipt,
    receipt_reason: file.receiptReason,
    receipt_at: file.receiptAt,
    action_post: file.actionPost,
    path_post: file.pathPost,
    name_key: nameKey(file.name),
  }
}

/** Every column of a file's row. */
export const FILE_COLUMNS: readonly (keyof TransferFileRow)[] = [
  'transfer_id',
  'idx',
  'content',
  'directory',
  'name',
  'path',
  'size',
  'modified_at',
  'hash',
  'phase',
  'position',
  'maybe_visible',
  'key_name',
  'key_date',
  'key_time',
  'staged_path',
  'wire_hash',
  'receipt',
  'receipt_reason',
  'receipt_at',
  'action_post',
  'path_post',
  'name_key',
]
