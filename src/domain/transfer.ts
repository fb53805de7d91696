// The states of a transfer as one table of moves. A change of state names the state it starts from. The store refuses a
// move that is not in the table, or whose row is no longer in that state.
//
//   PENDING      asked for, waiting for its hour, its partner, its next attempt or a free place
//   IN_PROGRESS  claimed by a node under a lease
//   COMPLETED    every file is known to be at the other end and its post-action is done
//   FAILED       gave up; `error` says why. Retry makes a new transfer, this one stays as it is
//   CANCELLED    stopped by a reset

import type { FILE_PHASES, RECEIPT_STATES } from '../contract/platform.ts'
import type { TransferDirection, TransferStatus, TransferType } from '../contract/transfer.ts'

const MOVES = {
  PENDING: ['IN_PROGRESS', 'FAILED', 'CANCELLED'],
  IN_PROGRESS: ['PENDING', 'COMPLETED', 'FAILED', 'CANCELLED'],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
} as const satisfies Record<TransferStatus, readonly TransferStatus[]>

export const ACTIVE = ['PENDING', 'IN_PROGRESS'] as const satisfies TransferStatus[]

export function mayMove(from: TransferStatus, to: TransferStatus): boolean {
  return (MOVES[from] as readonly TransferStatus[]).includes(to)
}

export function isOver(state: TransferStatus): boolean {
  return MOVES[state].length === 0
}

/**
 * The phases of one file. Outgoing: WAITING, STAGED (pre-script done, wire form on disk), ARRIVED (the partner has it;
 * only now may the post-action run), DONE. Incoming: MOVING, WHOLE (every byte is here and checked, its name is
 * chosen), PLACED (under that name), DONE (post-action done).
 */
export type FilePhase = (typeof FILE_PHASES)[number]

export type ReceiptState = (typeof RECEIPT_STATES)[number]

/** FILE: of one of the channel's directories. CERTIFICATE: what a key-exchange channel carries. */
export type FileContent = 'FILE' | 'CERTIFICATE'

export type TransferFileRecord = {
  index: number
  content: FileContent
  /** Which of the channel's directories it belongs to; null for a certificate, which belongs to none. */
  directory: number | null
  name: string
  path: string
  size: number | null
  modifiedAt: number | null
  /** Hex SHA-256 of the local file. */
  hash: string | null
  phase: FilePhase
  /** Octets known to be safe: at the partner's end (out) or here (in). */
  position: number
  /** Out: it was about to become visible at the partner's end. Whether it did is not known. */
  maybeVisible: boolean
  /** Together with date and time, this names the file for both ends. */
  keyName: string
  keyDate: string
  keyTime: string
  stagedPath: string | null
  /**
   * Hash of the bytes as transmitted, in hex; of plain V records without their lengths. Out: what the partner's receipt
   * is compared with. In: what our receipt shows; null where none with a hash was asked for. Its length tells SHA-1,
   * SHA-256 and SHA-512 apart.
   */
  wireHash: string | null
  receipt: ReceiptState
  /** What the receipt said, where that is more than yes; and when it came. */
  receiptReason: string | null
  receiptAt: number | null
  actionPost: string | null
  pathPost: string | null
}

export type TransferRecord = {
  id: string
  channelCode: string
  direction: TransferDirection
  state: TransferStatus
  type: TransferType
  encryption: boolean
  /**
   * Why it failed, or why it will when the receipts of the files that went are in. Of a reception under way: what a file
   * that is here waits for.
   */
  error: string | null
  errorCode: string | null
  requestedAt: number
  startedAt: number | null
  endedAt: number | null
  retryOf: string | null
  settled: boolean
  attempts: number
  dueAt: number
  /** By when the receipts must have come; null while files are still to be moved. */
  receiptsUntil: number | null
  fence: number
  files: TransferFileRecord[]
}

/** A due time that never comes: the transfer waits for the partner to call. */
export const PARKED = 8_640_000_000_000_000
