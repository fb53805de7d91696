// The steps of a small file, done in this thread (quick-disk.ts) except for the one that waits for the disk, the sync. By
// then many are written, and one sync of the disk's journal serves them all. With O_DSYNC each has its own: two to three
// times as long.

import { closeSync, fsync, linkSync, renameSync } from 'node:fs'
import { promisify } from 'node:util'
import { NodeError } from '../../../errors.ts'
import { removeName, writeNew } from '../../../files/small/new-file.ts'
import { QuickDisk } from '../../../files/small/quick-disk.ts'
import type { PushProgress, Source, WireFile } from '../transport.ts'

const SMALL = 256 * 1024

const sync = promisify(fsync)
const disk = new QuickDisk()

export function isQuickHere(): boolean {
  return disk.isQuick
}

/** Without a restart point: nothing of it is there to go on with. */
export function isSmall({ source, restartFrom }: WireFile): boolean {
  return source.size <= SMALL && restartFrom === 0
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
  const file = disk.do(() => writeNew(part, bytes))
  try {
    await sync(file)
  } finally {
    disk.do(() => closeSync(file))
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

/** Visible, and marked as such, with nothing in between. */
export function placeSmall({ part, done, target }: Record<'part' | 'done' | 'target', string>): void {
  disk.do(() => {
    linkSync(part, target)
    renameSync(part, done)
  })
}

/** No second look at whether it is gone: it costs a name in the inbox, nothing else. */
export function removeQuickly(path: string): void {
  disk.do(() => removeName(path))
}
