// Transfers and their files as rows, and as the rest of the program knows them.

import type { TransferDirection, TransferStatus, TransferType } from '../../contract/transfer.ts'
import type { FilePhase, ReceiptState, TransferFileRecord, TransferRecord } from '../../domain/transfer.ts'
import type { TransferFileRow, TransferRow } from '../database/tables.ts'
import { nameKey } from './file-names.ts'

export function toTransfer(row: TransferRow, files: TransferFileRow[]): TransferRecord {
  return {
    id: row.id,
    channelCode: row.channel_code,
    direction: row.direction as TransferDirection, // closed lists, written by this folder alone
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
    name_key: nameKey(file.name),
  }
}
