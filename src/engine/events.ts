// What people see of transfers while they run. State events are sent after the state is durable; progress may be lost
// and is throttled: four times a second per transfer, and always the last one.

import type { TransferEvent } from '../contract/event.ts'
import type { TransferDirection } from '../contract/transfer.ts'

export type Publish = (event: TransferEvent) => void

const EVERY_MS = 250

export type ProgressMeter = {
  moved(file: { index: number; name: string; size: number }, position: number): void
  fileDone(): void
}

type Subject = {
  transferId: string
  channelCode: string
  direction: TransferDirection
  totalBytes: number
  totalFiles: number
  filesDone: number
  bytesDone: number
}

export function makeProgress(
  publish: Publish,
  subject: Subject,
  counted: (bytes: number) => void,
): ProgressMeter {
  const positions = new Map<number, number>()
  let { filesDone, bytesDone: bytes } = subject
  let sentAt = 0
  let sentBytes = bytes
  let rate = 0
  return {
    moved(file, position) {
      const delta = position - (positions.get(file.index) ?? 0)
      positions.set(file.index, position)
      bytes += delta
      counted(delta)
      const at = Date.now()
      if (at - sentAt < EVERY_MS && position < file.size) return
      if (sentAt > 0 && at > sentAt) {
        const now = ((bytes - sentBytes) * 1000) / (at - sentAt)
        rate = rate === 0 ? now : rate * 0.5 + now * 0.5
      }
      if (at - sentAt < EVERY_MS && subject.totalFiles > 1) return
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
    fileDone() {
      filesDone++
    },
  }
}
