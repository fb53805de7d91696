// Puts a file in place. The file is there whole under its name, or not at all, and it never replaces another file. The
// steps: fsync the bytes, hard-link them to the name (this fails if the name is taken), remove the old name, fsync the
// folders. Each step can be repeated after a crash; `isPlaced` says whether an earlier try succeeded.

import { randomUUID } from 'node:crypto'
import { linkSync, lstatSync, mkdirSync, renameSync, statSync, unlinkSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { copyFile, link, lstat, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { stamp } from '../domain/time.ts'
import type { Zone } from '../domain/time.ts'
import { NodeError, fromFileError, systemCode } from '../errors.ts'
import { syncFolder } from './folder-sync.ts'
import { hashFile } from './hash.ts'

export async function syncFile(path: string): Promise<void> {
  await using file = await open(path, 'r')
  await file.sync()
}

/** Whether what lies under a name is the file that is meant, and not another that has taken its place. */
export type IsIt = (found: Stats) => boolean

/**
 * Moves `from` to `target` without overwriting. Throws name_taken, and file_changed if `from` is not the file that is meant.
 * A file that takes the place of `from` meanwhile stays there.
 */
export async function placeFile(from: string, target: string, isIt: IsIt = () => true): Promise<void> {
  try {
    const isPlacedHere = linkIt(from, target, isIt) ?? (await copyIt(from, target, isIt))
    await syncFolder(dirname(target))
    if (removeIf(from, isPlacedHere)) await syncFolder(dirname(from))
  } catch (thrown) {
    throw fromFileError(thrown, target)
  }
}

/**
 * Removes the file if it is the one that is meant. Its owner may rename the next one over it at any time, so there is no
 * turn of the event loop between the look and the removal.
 */
export function removeIf(path: string, isIt: IsIt): boolean {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (!found?.isFile() || !isIt(found)) return false
    unlinkSync(path)
    return true
  } catch (thrown) {
    // Somebody else was quicker: a runner that lost its lease may do the same.
    if (systemCode(thrown) === 'ENOENT') return false
    throw fromFileError(thrown, path)
  }
}

/** Tells what is the linked file; undefined where it must be copied. Whoever waits for it may take it away right after. */
function linkIt(from: string, target: string, isIt: IsIt): IsIt | undefined {
  const before = requireIt(from, isIt)
  try {
    linkSync(from, target)
  } catch (thrown) {
    if (needsCopy(thrown)) return undefined
    throw thrown
  }
  return (found) => found.ino === before.ino && found.dev === before.dev
}

async function copyIt(from: string, target: string, isIt: IsIt): Promise<IsIt> {
  const before = requireIt(from, isIt)
  const isUnchanged = (found: Stats) => isUntouched(found, before)
  await copyAcross(from, target, () => requireIt(from, isUnchanged))
  return isUnchanged
}

/** Throws file_changed where it is another one, file_missing where there is none. */
export function requireIt(path: string, isIt: IsIt): Stats {
  const found = lookAt(path)
  if (isIt(found)) return found
  throw new NodeError('file_changed', `${path} was replaced by another file: it is left alone`)
}

function lookAt(path: string): Stats {
  try {
    return lstatSync(path)
  } catch (thrown) {
    throw fromFileError(thrown, path)
  }
}

/** The very same file, not written to since. */
export function isUntouched(now: Stats, before: Stats): boolean {
  return (
    now.ino === before.ino &&
    now.dev === before.dev &&
    now.size === before.size &&
    now.mtimeMs === before.mtimeMs
  )
}

/**
 * The same for a received file, whose old name becomes a mark: it says that the file was put in place, for as long as
 * nobody has written that down. Whoever waits for the file may take it away at once, and a crash must not make it come
 * twice: so nothing happens between the link and the mark, not even a turn of the event loop. Syncing the folder is left
 * to the caller: a file system keeps the order of both, so after a power failure there is no mark without the file.
 * Between two file systems there is no such order, and the file is synced before the mark is made. `placed` is called as
 * soon as the file has its name: what fails after that does not take the name back.
 */
export async function placeMarked(from: string, target: string, placed = () => {}): Promise<void> {
  try {
    if (linkAndMark(from, target, placed)) return
    await copyAcross(from, target)
    placed()
    await syncFolder(dirname(target))
    await rename(from, markOf(from))
  } catch (thrown) {
    throw fromFileError(thrown, target)
  }
}

function linkAndMark(from: string, target: string, placed: () => void): boolean {
  try {
    linkSync(from, target)
  } catch (thrown) {
    if (needsCopy(thrown)) return false
    throw thrown
  }
  placed()
  renameSync(from, markOf(from))
  return true
}

export function markOf(from: string): string {
  return `${from}.placed`
}

/** A second name for the file, or a copy where there can be none. Fails if the name is taken. */
export async function linkOrCopy(from: string, target: string): Promise<void> {
  try {
    await link(from, target)
  } catch (thrown) {
    if (!needsCopy(thrown)) throw thrown
    await copyAcross(from, target)
  }
}

function needsCopy(thrown: unknown): boolean {
  return ['EXDEV', 'EPERM', 'ENOTSUP'].includes(systemCode(thrown) ?? '')
}

/**
 * For another file system, or one without hard links: first copies to a hidden name beside the target. `copied` may throw
 * before the copy gets its name.
 */
async function copyAcross(from: string, target: string, copied = () => {}): Promise<void> {
  const near = hiddenBeside(target)
  try {
    await copyFile(from, near)
    copied()
    await syncFile(near)
    await link(near, target).catch(async (thrown: unknown) => {
      if (systemCode(thrown) === 'EEXIST') throw thrown
      if (await exists(target))
        throw new NodeError('name_taken', `${target} exists already`, { cause: thrown })
      await rename(near, target)
    })
  } finally {
    await rm(near, { force: true })
  }
}

/** A new name for each call: several files of one folder may be copied at the same time. */
function hiddenBeside(target: string): string {
  return join(dirname(target), `.esclusa-${randomUUID()}.part`)
}

/** Copies between file systems, and uploads. */
const PART = /^\.esclusa-(upload-)?[0-9a-f-]{36}\.part$/
/** Octets come to a living one at least once a minute. */
const STALE_MS = 3_600_000

/** Removes what copies and uploads that a crash ended have left in a folder. */
export async function sweepParts(folder: string, now = Date.now()): Promise<void> {
  const names = await readdir(folder).catch((thrown: unknown) => {
    if (systemCode(thrown) === undefined) throw thrown
    return [] // not there, or not to be read: nothing to sweep
  })
  for (const name of names) {
    if (!PART.test(name)) continue
    const part = await lstat(join(folder, name)).catch(() => undefined)
    if (part?.isFile() && part.mtimeMs < now - STALE_MS) await rm(join(folder, name), { force: true })
  }
}

/** Whether an earlier try already put these bytes there: it is the same file, or has the same size and hash. */
export async function isPlaced(
  from: string,
  target: string,
  expected: { size: number; sha256: string },
): Promise<boolean> {
  const there = await ifThere(stat(target), target)
  if (!there?.isFile()) return false
  const here = await ifThere(stat(from), from)
  // On one file system it is a link. Between two it is a copy, and only the bytes can be compared.
  if (here && here.dev === there.dev) return here.ino === there.ino
  return there.size === expected.size && (await hashThere(target)) === expected.sha256
}

/** Whoever waits for it may take it away meanwhile. A disk that cannot be read now does not say that it is another file. */
async function hashThere(target: string): Promise<string> {
  return hashFile(target).catch((thrown: unknown) => {
    const fault = fromFileError(thrown, target)
    if (fault.retry) throw fault
    return ''
  })
}

export async function exists(path: string): Promise<boolean> {
  return (await ifThere(lstat(path), path)) !== undefined
}

/** Nothing can lie there. */
const NOT_THERE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'])

/** Undefined: nothing lies there. A disk that cannot be read now does not say so, and neither do missing rights. */
export async function ifThere<T>(look: Promise<T>, path: string): Promise<T | undefined> {
  return look.catch((thrown: unknown) => {
    if (NOT_THERE.has(systemCode(thrown) ?? '')) return undefined
    throw fromFileError(thrown, path)
  })
}

export async function ensureFolder(path: string): Promise<void> {
  ensureFolderHere(path)
}

export function ensureFolderHere(path: string): void {
  try {
    makeFolder(path, 0o750)
  } catch (thrown) {
    // Something else is there, or on the way there. The name of the file that is to go into it is not at fault.
    if (systemCode(thrown) === 'EEXIST' || systemCode(thrown) === 'ENOTDIR')
      throw new NodeError('conflict', `${path} is no folder`, { cause: thrown })
    throw fromFileError(thrown, path)
  }
}

/**
 * With those above it, level by level: Node's recursive form never ends where a folder that is there says ENOENT to a new
 * one in it, as /proc does.
 */
export function makeFolder(path: string, mode?: number): void {
  // Asked for at every file: making a folder that is there costs as much as a small write, to look costs next to nothing.
  if (isFolder(path)) return
  if (dirname(path) !== path) makeFolder(dirname(path), mode)
  try {
    mkdirSync(path, mode)
  } catch (thrown) {
    // Somebody else may have made it meanwhile.
    if (systemCode(thrown) !== 'EEXIST' || !isFolder(path)) throw thrown
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** `report.txt` with a stamp becomes `report.20261115.txt`; names stay within 255 octets. */
export function stampedName(name: string, digits: number, at: number, zone: Zone, nth = 0): string {
  if (digits === 0 && nth === 0) return name
  const marks = [digits > 0 ? stamp(at, zone, digits) : '', nth > 0 ? String(nth) : ''].filter(
    (mark) => mark !== '',
  )
  const mark = `.${marks.join('.')}`
  const ending = Buffer.byteLength(extname(name)) <= LONGEST_ENDING ? extname(name) : ''
  const stem = name.slice(0, name.length - ending.length)
  return cutTo(stem, 255 - Buffer.byteLength(mark + ending)) + mark + ending
}

/** Something longer is no extension but part of the name, and may be cut like the rest of it. */
const LONGEST_ENDING = 32

/** As many whole characters as fit into that many octets. */
function cutTo(text: string, octets: number): string {
  if (Buffer.byteLength(text) <= octets) return text
  let used = 0
  let kept = ''
  for (const character of text) {
    used += Buffer.byteLength(character)
    if (used > octets) break
    kept += character
  }
  return kept
}
