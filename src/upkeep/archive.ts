// What retention takes away, as JSON lines in gzip, one file a day and machine: archive-2026-11-16-HOST.jsonl.gz. Each piece is a gzip
// member of its own, which readers take as one stream.
//
// Order: the piece is written and synced, then the rows go in one transaction that also says how long the file is now. A
// node killed in between leaves a tail that the next piece cuts off: every row is in the archive once. A node that was held
// up meanwhile, and whose work another has taken over, changes neither the file nor what is said of it.

import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  fsyncSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { fromFileError, NodeError } from '../errors.ts'
import { syncFolder } from '../files/folder-sync.ts'
import { writeAll } from '../files/small/new-file.ts'
import { archiveMark, putArchiveMark } from '../store/retention/archive-mark.ts'
import type { ArchiveMark } from '../store/retention/archive-mark.ts'
import type { Store, Tx } from '../store/database/store.ts'
import type { Hold } from './upkeep.ts'

export type Archive = {
  /** Puts the lines on disk; what it returns is to be called in the transaction that takes the rows away. */
  write(lines: readonly object[], now: number): Promise<(tx: Tx) => Promise<void>>
}

export function archiveIn(store: Store, folder: string, hold: Hold): Archive {
  const put = async (tx: Tx, mark: ArchiveMark) => {
    await hold.requireIn(tx)
    await putArchiveMark(tx, folder, mark)
  }
  return {
    write: async (lines, now) => {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const begun = await begunFile(store, folder, now, { put, hold })
      // Nothing waits between this and the writing.
      hold.require()
      const grown = append(folder, lines, begun, hold)
      await syncFolder(folder)
      return (tx) => put(tx, grown)
    },
  }
}

/** The file of the day, and how long it is. That it is ours is said before anything is written to it. */
async function begunFile(
  store: Store,
  folder: string,
  now: number,
  { put, hold }: { put: (tx: Tx, mark: ArchiveMark) => Promise<void>; hold: Hold },
): Promise<ArchiveMark> {
  const mark = await archiveMark(store.db, folder)
  const day = new Date(now).toISOString().slice(0, 10)
  // A clock that was set back does not go back to a file that is finished.
  if (mark && dayOf(mark) >= day) return mark
  if (mark) {
    // The run that was cut off may have been on that day, and nobody comes back to its file.
    hold.require()
    cutTail(join(folder, mark.file), mark.length)
  }
  const begun = { file: freeName(folder, `archive-${day}-${hostname()}`), length: 0 }
  await store.write((tx) => put(tx, begun))
  return begun
}

function dayOf({ file }: ArchiveMark): string {
  return file.slice('archive-'.length, 'archive-2026-11-16'.length)
}

/** A file that is there already belongs to another database, or to the one that a restore has set aside. */
function freeName(folder: string, start: string): string {
  for (let count = 1; ; count++) {
    const name = `${start}${count > 1 ? `-${count}` : ''}.jsonl.gz`
    if (!existsSync(join(folder, name))) return name
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function cutTail(path: string, length: number): void {
  // A file without anything is no gzip file.
  if (length === 0) return rmSync(path, { force: true })
  if (sizeOf(path) <= length) return
  const open = openSync(path, 'r+')
  try {
    ftruncateSync(open, length)
    fsyncSync(open)
  } finally {
    closeSync(open)
  }
}

function append(
  folder: string,
  lines: readonly object[],
  { file, length }: ArchiveMark,
  hold: Hold,
): ArchiveMark {
  const path = join(folder, file)
  const found = sizeOf(path)
  if (found < length) throw changed(path, found, length)
  cutTail(path, length)
  const piece = gzipSync(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const grown = length + piece.length
  try {
    writePiece(path, piece, grown)
  } catch (thrown) {
    cutBegun(path, length, hold)
    throw fromFileError(thrown, path)
  }
  return { file, length: grown }
}

function writePiece(path: string, piece: Uint8Array, grown: number): void {
  const open = openSync(path, 'a', 0o600)
  try {
    writeAll(open, piece, grown - piece.length)
    fsyncSync(open)
    // The rows go by this length: it is what the disk has, not what was meant.
    const { size } = fstatSync(open)
    if (size !== grown) throw changed(path, size, grown)
  } finally {
    closeSync(open)
  }
}

/** So that readers find whole pieces alone until there is room. Where it cannot be cut now, the next piece cuts it. */
function cutBegun(path: string, length: number, hold: Hold): void {
  try {
    hold.require()
    cutTail(path, length)
  } catch {
    // Told is why it was not written.
  }
}

function changed(path: string, found: number, length: number): NodeError {
  return new NodeError('internal', `${path} has ${found} octets, and ${length} were written: it was changed`)
}
