// Where a restore works: `restoring/` in the data folder. Everything is unpacked and checked there first; then a note is
// written, and from that moment on the restore is carried to its end, by this run or the next. Until it is, no node
// starts. What it takes the place of goes to `before-restore-…`, nothing is removed.
//
//   restoring/data/…       files as the data folder will have them
//   restoring/database/…   tables as lines, where they are loaded into PostgreSQL
//   restoring/note.json    all of it is there and right

import { createWriteStream, existsSync, readFileSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { messageOf, NodeError } from '../errors.ts'
import { exists } from '../files/place.ts'
import { syncFolder } from '../files/folder-sync.ts'
import { notePath, RESTORING } from '../files/half-restored.ts'
import { BEFORE_RESTORE } from './data-files.ts'
import type { Manifest } from './manifest.ts'
import type { ReadEntry } from './tar.ts'

/** What is decided: which backup, and what the things it takes the place of are called. */
export type Note = { manifest: Manifest; before: string }

export function readNote(dataDir: string): Note | undefined {
  if (!existsSync(notePath(dataDir))) return undefined
  try {
    return JSON.parse(readFileSync(notePath(dataDir), 'utf8')) as Note // written whole by writeNote
  } catch (cause) {
    throw new NodeError('bad_use', `${notePath(dataDir)} cannot be read: ${messageOf(cause)}`, { cause })
  }
}

/** The point of no return. */
export async function writeNote(dataDir: string, note: Note): Promise<void> {
  const path = notePath(dataDir)
  const file = await open(`${path}.draft`, 'w', 0o600)
  await file.writeFile(JSON.stringify(note))
  await file.sync()
  await file.close()
  await rename(`${path}.draft`, path)
  await syncFolder(dirname(path))
}

/**
 * A name for what is set aside, also good as one of a PostgreSQL schema. Two restores may be of the same second: what the
 * second one sets aside must not be put over what the first one did.
 */
export async function nameOfBefore(
  now: number,
  isTaken: (name: string) => Promise<boolean>,
): Promise<string> {
  const time = new Date(now)
    .toISOString()
    .replaceAll(/[-:]|\..*$/g, '')
    .replace('T', '_')
  for (let nth = 1; ; nth++) {
    const name = `before_restore_${time}${nth === 1 ? '' : `_${nth}`}`
    if (!(await isTaken(name))) return name
  }
}

/** Where the files of that name lie. */
export function asideFolder(dataDir: string, before: string): string {
  return join(dataDir, before.replace('before_restore_', BEFORE_RESTORE))
}

export async function emptyWorkplace(dataDir: string): Promise<string> {
  const place = join(resolve(dataDir), RESTORING)
  await rm(place, { recursive: true, force: true })
  await mkdir(join(place, 'data'), { recursive: true, mode: 0o700 })
  await mkdir(join(place, 'database'), { mode: 0o700 })
  return place
}

/** Puts an entry of the backup where its name says, and nowhere outside. */
export async function unpack(place: string, entry: ReadEntry): Promise<void> {
  const path = resolve(place, entry.name)
  if (!path.startsWith(`${place}/data/`) && !path.startsWith(`${place}/database/`))
    throw new NodeError('damaged', `the backup is damaged: it has no place for ${entry.name}`)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await pipeline(
    Readable.from(entry.body),
    createWriteStream(path, { mode: entry.mode & 0o700, flush: true }),
  )
}

/**
 * Puts what was unpacked in its place, each thing by renaming; what lay there goes aside first. Killed at any point it
 * is simply run again. Quarantine is added to: what came in since lies there, too.
 */
export async function moveIn(dataDir: string, before: string): Promise<string[]> {
  const from = join(dataDir, RESTORING, 'data')
  const aside = asideFolder(dataDir, before)
  await mkdir(aside, { recursive: true, mode: 0o700 })
  // A log of the old database beside the new one would be taken for its own.
  for (const name of ['esclusa.db-wal', 'esclusa.db-shm'])
    if (existsSync(join(from, 'esclusa.db')) && existsSync(join(dataDir, name)))
      await rename(join(dataDir, name), join(aside, name))
  const names = (await readdir(from)).sort()
  for (const name of names)
    if (name === 'quarantine') await addMissing(join(from, name), join(dataDir, name))
    else await exchange(join(from, name), join(dataDir, name), join(aside, name))
  for (const folder of [aside, dataDir]) await syncFolder(folder)
  return names
}

async function exchange(fresh: string, place: string, aside: string): Promise<void> {
  if ((await exists(place)) && !(await exists(aside))) await rename(place, aside)
  await rename(fresh, place)
}

async function addMissing(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const name of await readdir(from))
    if (!(await exists(join(to, name)))) await rename(join(from, name), join(to, name))
}

/** The note goes first: without it the rest is rubbish. */
export async function clearWorkplace(dataDir: string): Promise<void> {
  await rm(notePath(dataDir), { force: true })
  await syncFolder(join(dataDir, RESTORING))
  await rm(join(dataDir, RESTORING), { recursive: true, force: true })
}

/**
 * Nothing was changed: what was unpacked goes, for the secrets of a sealed backup lie there in clear. Where nothing else is
 * there the empty folder stays, and says that a restore did not end (files/half-restored.ts).
 */
export async function abandonWorkplace(dataDir: string): Promise<void> {
  const place = join(dataDir, RESTORING)
  await rm(notePath(dataDir), { force: true })
  for (const name of await readdir(place)) await rm(join(place, name), { recursive: true, force: true })
  if ((await readdir(dataDir)).some((name) => name !== RESTORING)) await rmdir(place)
}
