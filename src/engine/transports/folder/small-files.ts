// Small files come by the thousand. Asking another thread for each of the six steps of one costs several times what the
// steps take, so they are done in this thread, except for the one that waits for the disk: octets are written by another
// thread, and are durable when that returns (O_DSYNC). Where a step took long, as on a slow mount, the next files go the
// long way for a while: this thread must not wait for a slow disk.

import { closeSync, constants, fsync, linkSync, openSync, renameSync, unlinkSync, write } from 'node:fs'
import { promisify } from 'node:util'
import { NodeError, systemCode } from '../../../errors.ts'
import type { PushProgress, Source, WireFile } from '../transport.ts'

const SMALL = 256 * 1024
const SLOW_MS = 20
const SLOW_FOR_MS = 10_000
const NEW =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_DSYNC

const writeBytes = promisify(write)
const sync = promisify(fsync)
let slowUntil = 0

export function isQuickHere(): boolean {
  return performance.now() >= slowUntil
}

/** Without a restart point: nothing of it is there to go on with. */
export function isSmall({ source, restartFrom }: WireFile): boolean {
  return source.size <= SMALL && restartFrom === 0
}

function here<T>(step: () => T): T {
  const began = performance.now()
  try {
    return step()
  } finally {
    const now = performance.now()
    if (now - began > SLOW_MS) slowUntil = now + SLOW_FOR_MS
  }
}

/** A new file under this name, whole and durable. */
export async function writeSmall(
  { source }: WireFile,
  part: string,
  progress: PushProgress,
  signal: AbortSignal,
): Promise<void> {
  const bytes = await readSmall(source)
  signal.throwIfAborted()
  const file = here(() => openNew(part))
  try {
    for (let done = 0; done < bytes.length;)
      done += (await writeBytes(file, bytes, done, bytes.length - done, done)).bytesWritten
    if (bytes.length === 0) await sync(file)
  } finally {
    here(() => closeSync(file))
  }
  progress.moved(bytes.length)
  progress.safe(bytes.length)
}

async function readSmall(source: Source): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(source.size)
  for (let done = 0; done < bytes.length;) {
    const length = await source.read(bytes.subarray(done), done)
    if (length === 0) throw new NodeError('file_changed', 'the file became shorter while it was sent')
    done += length
  }
  return bytes
}

/** Makes a new file, so that one which another attempt has open is not touched. */
function openNew(part: string): number {
  try {
    return openSync(part, NEW, 0o640)
  } catch (thrown) {
    if (systemCode(thrown) !== 'EEXIST') throw thrown
    unlinkSync(part)
    return openSync(part, NEW, 0o640)
  }
}

/** Visible, and marked as such, with nothing in between. */
export function placeSmall({ part, done, target }: Record<'part' | 'done' | 'target', string>): void {
  here(() => {
    linkSync(part, target)
    renameSync(part, done)
  })
}

/** The name is gone, or was. */
export function removeName(path: string): void {
  here(() => {
    try {
      unlinkSync(path)
    } catch {
      // Costs a name in the inbox, nothing else.
    }
  })
}
