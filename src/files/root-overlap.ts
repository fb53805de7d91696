// The data folder contains the node's keys, file roots contain what channels read and write, script roots contain what
// the node runs. If one were inside another, somebody who may set a channel's paths could send out a key or plant a
// script. A node with such settings does not start. Links are followed, since a root may be reached through one.
//
// One nesting is allowed: the data folder's own `files`, which is the default file root.

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import { isInside } from '../domain/channel-rules.ts'
import { messageOf, NodeError, systemCode } from '../errors.ts'
import { makeFolder } from './place.ts'
import { realPlace } from './roots.ts'

type Places = Pick<Config, 'dataDir' | 'fileRoots' | 'scriptRoots'> & Partial<Pick<Config, 'archiveDir'>>
type Place = { kind: 'data' | 'files' | 'scripts' | 'archive'; setting: string; path: string; real: string }

export function requireApart(places: Places): void {
  const [first] = [...noFolders(places), ...overlaps(places)]
  if (first !== undefined) throw new NodeError('bad_use', first)
}

/** One sentence for each that is there and is no folder. */
export function noFolders(places: Places): string[] {
  return placesOf(places)
    .filter(({ path }) => isNoFolder(path))
    .map(({ setting, path }) => `setting ${setting} must name a folder; ${path} is none`)
}

function isNoFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false
  } catch (thrown) {
    // What may not be looked at is told by whoever needs it.
    return systemCode(thrown) === 'ENOTDIR'
  }
}

/** The data folder, and what lies in it, must be this user's to write: node and commands do. */
export function requireOwnData(dataDir: string): void {
  for (const name of ['', 'esclusa.db', 'jwt-secret', 'master-key']) {
    const path = join(dataDir, name)
    if (name === '' || existsSync(path)) requireRights('ESCLUSA_DATA_DIR', path)
  }
}

/** Makes what is not there of the data folder, the file roots and the archive. */
export function makeFolders({
  dataDir,
  fileRoots,
  archiveDir,
}: Pick<Places, 'dataDir' | 'fileRoots' | 'archiveDir'>): void {
  requireOwnData(dataDir)
  makeDataFolder(dataDir)
  for (const root of fileRoots) {
    // What is there may be for reading alone.
    if (!existsSync(root)) requireRights('ESCLUSA_FILE_ROOTS', root)
    makeFolderOf('ESCLUSA_FILE_ROOTS', root)
  }
  if (archiveDir === undefined) return
  // Retention needs it months later, when nobody looks any more.
  requireRights('ESCLUSA_ARCHIVE_DIR', archiveDir)
  makeFolderOf('ESCLUSA_ARCHIVE_DIR', archiveDir, 0o700)
}

export function makeDataFolder(dataDir: string): void {
  makeFolderOf('ESCLUSA_DATA_DIR', dataDir, 0o700)
}

function makeFolderOf(setting: string, path: string, mode?: number): void {
  try {
    makeFolder(path, mode)
  } catch (thrown) {
    const why = systemCode(thrown) ?? messageOf(thrown)
    throw new NodeError('bad_use', `${path} cannot be made (${why}): set ${setting} to another folder`, {
      cause: thrown,
    })
  }
}

/** Of what is not there yet, the rights on the folder that it would be made in. */
export function requireRights(setting: string, path: string): void {
  let there = path
  while (!existsSync(there) && there !== dirname(there)) there = dirname(there)
  try {
    accessSync(there, constants.R_OK | constants.W_OK)
  } catch (thrown) {
    const code = systemCode(thrown)
    throw new NodeError(
      'bad_use',
      code === 'EROFS'
        ? `${there} can only be read (EROFS): set ${setting} to a folder on a disk that can be written`
        : `this user (uid ${process.getuid?.()}) may not write to ${there} (${code}): run the command as the user that it belongs to, give it to this user, or set ${setting} to another folder`,
      { cause: thrown },
    )
  }
}

function placesOf({ dataDir, fileRoots, scriptRoots, archiveDir }: Places): Omit<Place, 'real'>[] {
  const place = (kind: Place['kind'], setting: string) => (path: string) => ({ kind, setting, path })
  return [
    place('data', 'ESCLUSA_DATA_DIR')(dataDir),
    ...fileRoots.map(place('files', 'ESCLUSA_FILE_ROOTS')),
    ...scriptRoots.map(place('scripts', 'ESCLUSA_SCRIPT_ROOTS')),
    ...(archiveDir === undefined ? [] : [place('archive', 'ESCLUSA_ARCHIVE_DIR')(archiveDir)]),
  ]
}

/** One sentence for each pair that overlaps. */
export function overlaps(places: Places): string[] {
  const all: Place[] = placesOf(places).map((place) => ({ ...place, real: realPlace(place.path) }))
  const own = join(realPlace(places.dataDir), 'files')
  return all.flatMap((one, index) =>
    all
      .slice(index + 1)
      .filter((other) => one.kind !== other.kind && meet(one.real, other.real))
      .filter((other) => !(one.kind === 'data' && other.kind === 'files' && isInside(other.real, own)))
      // Only the node itself reaches its data folder, and so an archive in it.
      .filter((other) => !(one.kind === 'data' && other.kind === 'archive' && isInside(other.real, one.real)))
      .map((other) => sentence(one, other)),
  )
}

function meet(one: string, other: string): boolean {
  return isInside(one, other) || isInside(other, one)
}

function sentence(one: Place, other: Place): string {
  const names = (place: Place) => `${place.setting} (${shown(place)})`
  const how =
    one.real === other.real
      ? 'are the same folder'
      : isInside(other.real, one.real)
        ? 'overlap: the second lies inside the first'
        : 'overlap: the first lies inside the second'
  return `${names(one)} and ${names(other)} ${how}. Set them to folders apart from each other; the one file root allowed inside the data folder is its "files"`
}

function shown({ path, real }: Place): string {
  return path === real ? path : `${path}, which is ${real}`
}
