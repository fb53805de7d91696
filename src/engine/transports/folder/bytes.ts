// Moving and comparing the bytes of local files: big pieces, the next one read while the last one is written.

import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { NodeError } from '../../../errors.ts'
import type { PushProgress, Source } from '../transport.ts'

/** Octets read and written at once. */
export const PIECE = 1024 * 1024
/** What is written so far is made durable about this often; a restart begins there. */
const SYNC_EVERY = 64 * 1024 * 1024

type Copy = { position: number; progress: PushProgress; signal: AbortSignal }

export async function copyBytes(
  source: Source,
  out: FileHandle,
  { position, progress, signal }: Copy,
): Promise<void> {
  const size = Math.min(PIECE, source.size - position)
  if (size <= 0) return progress.moved(position)
  let filling = Buffer.allocUnsafeSlow(size)
  let emptying = source.size - position > size ? Buffer.allocUnsafeSlow(size) : filling
  let synced = position
  let syncing: Promise<void> | undefined
  let ahead = startRead(source, filling, position)
  while (position < source.size) {
    signal.throwIfAborted()
    const length = await ahead
    if (length === 0) throw new NodeError('file_changed', 'the file became shorter while it was sent')
    const piece = filling.subarray(0, length)
    ;[filling, emptying] = [emptying, filling]
    const next = position + length
    if (next < source.size) ahead = startRead(source, filling, next)
    await writeAll(out, piece, position)
    position = next
    progress.moved(position)
    if (position - synced >= SYNC_EVERY && syncing === undefined) {
      const upTo = position
      synced = position
      syncing = out.datasync().then(() => {
        syncing = undefined
        progress.safe(upTo)
      })
      syncing.catch(() => {}) // awaited at the end; a failed write may come first
    }
  }
  await syncing
}

/** A read ahead: if the write before it fails, nobody awaits it any more. */
function startRead(source: Source, into: Buffer, position: number): Promise<number> {
  const reading = source.read(into, position)
  reading.catch(() => {})
  return reading
}

async function writeAll(out: FileHandle, piece: Buffer, position: number): Promise<void> {
  let done = 0
  while (done < piece.length) {
    const { bytesWritten } = await out.write(piece, done, piece.length - done, position + done)
    done += bytesWritten
  }
}

/** Whether the first `length` octets of the source are those of the file. */
export async function sameBytes(source: Source, path: string, length: number): Promise<boolean> {
  await using file = await open(path, 'r')
  const ours = Buffer.allocUnsafeSlow(Math.min(PIECE, length) || 1)
  const theirs = Buffer.allocUnsafeSlow(ours.length)
  for (let position = 0; position < length;) {
    const want = Math.min(ours.length, length - position)
    const [got, { bytesRead }] = await Promise.all([
      source.read(ours.subarray(0, want), position),
      file.read(theirs, 0, want, position),
    ])
    const both = Math.min(got, bytesRead)
    if (both === 0 || !ours.subarray(0, both).equals(theirs.subarray(0, both))) return false
    position += both
  }
  return true
}

export async function sha256Of(path: string): Promise<string> {
  await using file = await open(path, 'r')
  const hash = createHash('sha256')
  const piece = Buffer.allocUnsafeSlow(PIECE)
  for (;;) {
    const { bytesRead } = await file.read(piece, 0, PIECE)
    if (bytesRead === 0) return hash.digest('hex')
    hash.update(piece.subarray(0, bytesRead))
  }
}
