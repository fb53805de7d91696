// What is done with a file once it is known to have arrived. Every action can be repeated after a crash, and none
// touches a file that is no longer the one that was sent: somebody may have put a new one under the same name.

import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Zone } from '../../domain/time.ts'
import { NodeError, fromFileError } from '../../errors.ts'
import {
  ensureFolder,
  exists,
  isPlaced,
  placeFile,
  removeIf,
  requireIt,
  stampedName,
} from '../../files/place.ts'
import { syncFolder } from '../../files/folder-sync.ts'
import { fileRootsOf } from '../../domain/file-roots.ts'
import { requireConfined } from '../../files/roots.ts'
import type { RunningTransfer } from '../running-transfer.ts'

export type Original = { path: string; size: number | null; modifiedAt: number | null; hash: string | null }

/** Deletes the file if it is still the one that was sent. */
export async function deleteOriginal(file: Original): Promise<void> {
  if (!removeIf(file.path, (found) => isSame(found, file))) return
  try {
    await syncFolder(dirname(file.path))
  } catch (thrown) {
    throw fromFileError(thrown, file.path)
  }
}

export type MoveTo = {
  directory: string
  fileRoots: readonly string[]
  rename: boolean
  /** An earlier run may have moved it, and whoever waits for it, here or there, may have taken it away since. */
  mayBeTaken?: boolean
  /** The time for the stamp. It is the same at every try, so that a later try finds what an earlier one did. */
  at: number
  zone: Zone
}

const MOST_STAMPED = 99

/**
 * Moves the file into the directory. If its name is taken there it gets a stamp, or this throws. Returns the new path; null
 * where it lies nowhere and may be taken: nobody knows whether from here or from there.
 */
export async function moveOriginal(file: Original, to: MoveTo): Promise<string | null> {
  requireConfined(to.directory, to.fileRoots)
  await ensureFolder(to.directory)
  const name = basename(file.path)
  const targetOf = (nth: number) =>
    join(to.directory, nth === 0 ? name : stampedName(name, 17, to.at, to.zone, nth - 1))
  const size = file.size ?? 0
  const sha256 = file.hash ?? ''
  const isMoved = (target: string) => isPlaced(file.path, target, { size, sha256 })
  if (!(await exists(file.path))) {
    // An earlier try may have died after moving it. What else lies under its name there is another file.
    for (let nth = 0; nth <= (to.rename ? MOST_STAMPED : 0); nth++)
      if (await isMoved(targetOf(nth))) return targetOf(nth)
    if (to.mayBeTaken) return null
    throw new NodeError('file_missing', `${file.path} is gone: it cannot be moved to ${to.directory}`)
  }
  const isIt = (found: Stats) => isSame(found, file)
  requireIt(file.path, isIt)
  // Where it lies is where it should go: to take its old name away would be to lose it.
  if (await isSameFolder(dirname(file.path), to.directory)) return file.path
  for (let nth = 0; ; nth++) {
    const target = targetOf(nth)
    try {
      // An earlier try may have died after it made the new name and before it removed the old one.
      if (await isMoved(target)) await deleteOriginal(file)
      else await placeFile(file.path, target, isIt)
      return target
    } catch (thrown) {
      if (!(thrown instanceof NodeError)) throw thrown
      if (thrown.code === 'file_missing' && (await isMoved(target))) return target
      if (thrown.code !== 'name_taken' || !to.rename || nth > MOST_STAMPED) throw thrown
    }
  }
}

/** By whatever names the two are called. */
async function isSameFolder(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([stat(one), stat(other)])
  return a.dev === b.dev && a.ino === b.ino
}

function isSame(found: Stats, file: Original): boolean {
  return found.isFile() && found.size === file.size && Math.floor(found.mtimeMs) === file.modifiedAt
}

/** What `moveOriginal` needs of the transfer it moves for. */
export function placesOf({
  context,
  transfer,
  plan,
}: Pick<RunningTransfer, 'context' | 'transfer' | 'plan'>) {
  const fileRoots = fileRootsOf(context.roots.fileRoots, plan.localRoots)
  return { fileRoots, at: transfer.startedAt ?? context.now(), zone: context.zone }
}
