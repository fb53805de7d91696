// What people see of transfers while they run. State events are sent after the state is durable. Progress may be lost. It
// is sent at most four times a second for each transfer, and always at the end.

import type { TransferEvent } from '../contract/event.ts'
import type { TransferDirection, TransferStatus } from '../contract/transfer.ts'

export type Publish = (event: TransferEvent) => void

/** To be called once the state is durable. */
export function announce(
  { publish, now }: { publish: Publish; now: () => number },
  {
    id: transferId,
    channelCode,
    direction,
  }: { id: string; channelCode: string; direction: TransferDirection },
  status: TransferStatus,
  error?: string,
): void {
  const failed = error !== undefined && { error }
  publish({ kind: 'state', transferId, channelCode, direction, status, ...failed, at: now() })
}

const EVERY_MS = 250

export type ProgressMeter = {
  /** A file that was not known when the transfer began, and where it goes on. */
  begins(index: number, position: number): void
  moved(file: { index: number; name: string; size: number }, position: number): void
  fileDone(index: number, size: number): void
}

type Subject = {
  transferId: string
  channelCode: string
  direction: TransferDirection
  totalBytes: number
  totalFiles: number
  filesDone: number
  bytesDone: number
  /** Where files under way begin. Octets of an earlier attempt are shown, but do not count as moved by this one. */
  startAt: ReadonlyMap<number, number>
  /** More files may come: each small one looks like the last. */
  grows?: boolean
}

/** Smaller files of a transfer that grows are shown when their time has come, and not each by itself. */
const SHOWN_BY_ITSELF = 1024 * 1024

export function makeProgress(
  publish: Publish,
  subject: Subject,
  counted: (bytes: number) => void,
): ProgressMeter {
  const positions = new Map(subject.startAt)
  let { filesDone, bytesDone: bytes } = subject
  for (const start of positions.values()) bytes += start
  let sentAt = 0
  let sentBytes = bytes
  let rate = 0
  return {
    begins(index, position) {
      positions.set(index, position)
      bytes += position
    },
    moved(file, position) {
      const delta = position - (positions.get(file.index) ?? 0)
      positions.set(file.index, position)
      bytes += delta
      // The partner may have kept less than we believed. Then the position goes back, and nothing was moved.
      if (delta > 0) counted(delta)
      const at = Date.now()
      const alone = !subject.grows || position >= SHOWN_BY_ITSELF
      const last = alone && filesDone + 1 >= subject.totalFiles && position >= file.size
      if (at - sentAt < EVERY_MS && !last) return
      if (sentAt > 0 && at > sentAt) {
        const now = ((bytes - sentBytes) * 1000) / (at - sentAt)
        rate = rate === 0 ? now : rate * 0.5 + now * 0.5
      }
      sentAt = at
      sentBytes = bytes
      publish({
        kind: 'progress',
        transferId: subject.transferId,
        channelCode: subject.channelCode,
        direction: subject.direction,
        fileName: file.name,
        fileBytes: position,
        fileSize: file.size,
        bytes,
        totalBytes: subject.totalBytes,
        files: filesDone,
        totalFiles: subject.totalFiles,
        rate: Math.round(rate),
        at,
      })
    },
    fileDone(index, size) {
      filesDone++
      bytes += size - (positions.get(index) ?? 0)
      if (subject.grows) positions.delete(index)
      else positions.set(index, size)
    },
  }
}
