// What a send picks up. For each outbound directory of the channel: its regular files, the one file it names, or what
// its glob matches, as far as fileGroupsName allows. Hidden and `.part` files are left alone, and files that are locked
// or still being written. Links are not followed: a link is no regular file, and a directory reached through one must
// be inside the roots.

import { lstatSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { lstat, readdir, stat as followed } from 'node:fs/promises'
import { basename, dirname, join, normalize } from 'node:path'
import { setImmediate as turnEnds, setTimeout as delay } from 'node:timers/promises'
import type { Channel, Directory } from '../contract/channel.ts'
import { directoriesFor } from '../domain/channel.ts'
import { compileGlob, splitGlobs } from '../domain/names/glob.ts'
import type { NameTest } from '../domain/names/glob.ts'
import { NodeError, systemCode } from '../errors.ts'
import { globTest, globWalk } from './glob-walk.ts'
import { exists } from './place.ts'
import { confined, fixedPart } from './roots.ts'
import { QuickDisk } from './small/quick-disk.ts'

export type Candidate = {
  directory: number
  name: string
  path: string
  size: number
  modifiedAt: number
  changedAt?: number
}

export type SendSet = {
  files: Candidate[]
  /** The places that were searched, for a message. */
  places: string[]
  /** Files left alone because they are locked or still growing. */
  busy: number
  /** Entries whose names are not UTF-8, so that no text can name them. */
  unnamed: number
  /** Entries that the node has no rights to look at. */
  hidden: number
}

/** More files than this in one transfer are refused, to limit memory. */
const MOST_FILES = 100_000
/** A file touched more recently than this is looked at twice: it may still be being written. */
export const FRESH_MS = 2000
export const SECOND_LOOK_MS = 100

export async function findSendSet(
  channel: Channel,
  fileRoots: readonly string[],
  now: number,
): Promise<SendSet> {
  const files = new Map<string, Candidate>()
  const places: string[] = []
  let busy = 0
  let unnamed = 0
  let hidden = 0
  for (const { index, directory } of directoriesFor(channel, 'EMISION')) {
    const place = directory.filePath ?? ''
    const belongs = groupMatcher(directory.fileGroupsName)
    const found = await pathsAt(place, fileRoots)
    const groups = directory.fileGroupsName ? ` (${directory.fileGroupsName})` : ''
    places.push(`${place}${groups}${await whyUnseen(place, found)}`)
    const paths = found.paths.filter((path) => {
      const name = basename(path)
      return SENT[found.by](name) && belongs(name)
    })
    unnamed += found.paths.filter((path) => !isReadable(basename(path))).length
    const locks = new LockFiles(paths.length)
    for await (const { path, stat } of looksAt(paths)) {
      if (stat === 'no rights') hidden++
      if (stat === 'no rights' || files.has(path)) continue
      if (await locks.lie(path)) busy++
      else
        files.set(path, {
          directory: index,
          name: basename(path),
          path,
          size: stat.size,
          modifiedAt: Math.floor(stat.mtimeMs),
          changedAt: stat.ctimeMs,
        })
      if (files.size > MOST_FILES)
        throw new NodeError(
          'conflict',
          `more than ${MOST_FILES} files lie in ${place}: narrow it with fileGroupsName`,
        )
    }
  }
  const growing = await stillGrowing([...files.values()], now)
  for (const path of growing) files.delete(path)
  const sorted = [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
  return { files: sorted, places, busy: busy + growing.length, unnamed, hidden }
}

/** Names of all that lies in the channel's outbound directories, whether it would be sent now or not. */
export async function outboundNames(channel: Channel, fileRoots: readonly string[]): Promise<Set<string>> {
  const names = new Set<string>()
  for (const { directory } of directoriesFor(channel, 'EMISION'))
    for (const path of (await pathsAt(directory.filePath ?? '', fileRoots)).paths) names.add(basename(path))
  return names
}

/**
 * The outbound directory that a file of that path is picked up from, by the text of both: the preferred one if it is among
 * several, else the first. Asked for each file of a transfer, so what is compared is made once for a channel.
 */
export function outboundDirectoryOf(
  channel: Channel,
  path: string,
  preferred: number | null,
): Directory | undefined {
  let outbound = outbounds.get(channel)
  if (!outbound) {
    const made = directoriesFor(channel, 'EMISION').map((one) => ({ ...one, picks: pickerOf(one.directory) }))
    outbounds.set(channel, (outbound = made))
  }
  const picking = outbound.filter(({ picks }) => picks(path))
  return (picking.find(({ index }) => index === preferred) ?? picking[0])?.directory
}

type Outbound = { index: number; directory: Directory; picks: NameTest }

const outbounds = new WeakMap<Channel, Outbound[]>()

function pickerOf({ filePath = '', fileGroupsName }: Directory): NameTest {
  const place = join(filePath, '.')
  const base = fixedPart(place)
  const inside = base === '/' ? base : `${base}/`
  const matches = base === place ? () => false : globTest(place.slice(inside.length))
  const belongs = groupMatcher(fileGroupsName)
  const foundBy = (path: string): keyof typeof SENT | undefined => {
    if (path === place) return 'name'
    if (dirname(path) === place) return 'directory'
    return path.startsWith(inside) && matches(path.slice(inside.length)) ? 'pattern' : undefined
  }
  return (path) => {
    const by = foundBy(normalize(path))
    const name = basename(path)
    return by !== undefined && SENT[by](name) && belongs(name)
  }
}

/** Whether a name belongs to a directory; the same rule for both directions. */
export function groupMatcher(groups: string | undefined): NameTest {
  const tests = splitGlobs(groups ?? '').map(compileGlob)
  return tests.length === 0 ? () => true : (name) => tests.some((test) => test(name))
}

/** Of a directory. `.part` is still being written, `.lock` and `.lck` say that of the file beside them (LockFiles). */
export function isSendable(name: string): boolean {
  return !name.startsWith('.') && isFinished(name) && isReadable(name)
}

function isFinished(name: string): boolean {
  const ending = name.slice(name.lastIndexOf('.')).toLowerCase()
  return !UNFINISHED.has(ending)
}

const UNFINISHED: ReadonlySet<string> = new Set(['.part', '.lock', '.lck'])

/** U+FFFD: the name is not UTF-8, so the file cannot be opened by this text. */
function isReadable(name: string): boolean {
  return !name.includes('\uFFFD')
}

/** Who names a file means it. A pattern finds hidden names only where it asks for them. */
const SENT = {
  name: isReadable,
  pattern: (name: string) => isFinished(name) && isReadable(name),
  directory: isSendable,
}

/** A folder that is not there is another matter than one with nothing in it, and so is a link in place of a file. */
async function whyUnseen(place: string, { by, paths }: Found): Promise<string> {
  if (by !== 'name' && paths.length > 0) return ''
  const found = await lstat(place).catch(() => undefined)
  if (found) return by === 'name' && found.isSymbolicLink() ? ', which is a link' : ''
  const base = fixedPart(place)
  if (base === place) return ', which does not exist'
  return (await exists(base)) ? '' : `, where ${base} does not exist`
}

type Found = { by: keyof typeof SENT; paths: string[] }

async function pathsAt(place: string, fileRoots: readonly string[]): Promise<Found> {
  // A path that exists is taken as it is, even if it could be read as a glob.
  const base = (await exists(place)) ? place : fixedPart(place)
  if (confined(base, fileRoots) === undefined)
    throw new NodeError('conflict', `${place} leads out of the node’s file roots by a link`)
  if (base !== place) return { by: 'pattern', paths: await globPaths(place, base, fileRoots) }
  try {
    // A link is followed to a directory, which is inside the roots as was just seen, and never to a file.
    if (!(await followed(place)).isDirectory()) return { by: 'name', paths: [place] }
    return { by: 'directory', paths: (await readdir(place)).map((name) => join(place, name)) }
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return { by: 'name', paths: [] }
    throw new NodeError('conflict', `${place} cannot be read (${systemCode(thrown) ?? 'error'})`, {
      cause: thrown,
    })
  }
}

/** What links lead out of the roots is left out. */
function globPaths(place: string, base: string, fileRoots: readonly string[]): Promise<string[]> {
  const folders = new Map<string, boolean>()
  return globWalk(base, place.slice(base === '/' ? 1 : base.length + 1), (folder) => {
    let inside = folders.get(folder)
    if (inside === undefined) folders.set(folder, (inside = confined(folder, fileRoots) !== undefined))
    return inside
  })
}

async function regularFile(path: string): Promise<Stats | undefined> {
  const stat = await lookAt(path)
  return stat === 'no rights' ? undefined : stat
}

/** Undefined: there is none, or it is no regular file. A folder may let its names be read and not its files be looked at. */
async function lookAt(path: string): Promise<Looked> {
  return lstat(path).then(regularAlone, notSeen)
}

function lookAtHere(path: string): Looked {
  try {
    return regularAlone(lstatSync(path))
  } catch (thrown) {
    return notSeen(thrown)
  }
}

type Looked = Stats | 'no rights' | undefined

function regularAlone(stat: Stats): Looked {
  return stat.isFile() ? stat : undefined
}

function notSeen(thrown: unknown): Looked {
  return systemCode(thrown) === 'EACCES' ? 'no rights' : undefined
}

const disk = new QuickDisk()
const LOOK_MS = 5

/** To ask another thread for each costs several times as much as to look, where the disk answers at once. */
function looksHere(paths: readonly string[]): Looked[] {
  const began = performance.now()
  const looked: Looked[] = []
  for (const path of paths) {
    if (!disk.isQuick || performance.now() - began > LOOK_MS) break
    looked.push(disk.do(() => lookAtHere(path)))
  }
  return looked
}

/** The regular files among them, in the same order; many are looked at at once. */
async function* looksAt(
  paths: readonly string[],
): AsyncGenerator<{ path: string; stat: Stats | 'no rights' }> {
  for (let at = 0; at < paths.length; at += LOOKS_AT_ONCE) {
    const some = paths.slice(at, at + LOOKS_AT_ONCE)
    const here = looksHere(some)
    const stats = [...here, ...(await Promise.all(some.slice(here.length).map(lookAt)))]
    await turnEnds()
    for (const [nth, path] of some.entries()) {
      const stat = stats[nth]
      if (stat) yield { path, stat }
    }
  }
}

const LOOKS_AT_ONCE = 32

/**
 * A `name.lock` or `name.lck` beside a file means that its writer is not done. Beside many files they are looked for in a
 * listing of the folder. It is read after the files were found, so that a lock made before its file is always seen.
 */
class LockFiles {
  readonly #many: boolean
  readonly #names = new Map<string, Promise<ReadonlySet<string> | undefined>>()

  constructor(files: number) {
    this.#many = files >= MANY
  }

  async lie(path: string): Promise<boolean> {
    const names = this.#many ? await this.#listing(dirname(path)) : undefined
    const beside = LOCKS.map((ending) => `${path}.${ending}`)
    const there = names ? beside.filter((lock) => names.has(basename(lock))) : beside
    const looks = await Promise.all(there.map(regularFile))
    return looks.some((stat) => stat !== undefined)
  }

  /** Undefined where the folder may not be listed. */
  #listing(folder: string): Promise<ReadonlySet<string> | undefined> {
    const known = this.#names.get(folder)
    if (known) return known
    const listing = readdir(folder).then(
      (names) => new Set(names.filter((name) => LOCKS.some((ending) => name.endsWith(`.${ending}`)))),
      () => undefined,
    )
    this.#names.set(folder, listing)
    return listing
  }
}

const LOCKS = ['lock', 'lck']
const MANY = 8

async function stillGrowing(files: readonly Candidate[], now: number): Promise<string[]> {
  const fresh = files.filter((file) => file.modifiedAt > now - FRESH_MS)
  if (fresh.length === 0) return []
  await delay(SECOND_LOOK_MS)
  const seen = new Map<string, Stats>()
  for await (const { path, stat } of looksAt(fresh.map((file) => file.path)))
    if (stat !== 'no rights') seen.set(path, stat)
  const isSame = ({ path, size, modifiedAt }: Candidate) => {
    const stat = seen.get(path)
    return stat?.size === size && Math.floor(stat.mtimeMs) === modifiedAt
  }
  return fresh.filter((file) => !isSame(file)).map(({ path }) => path)
}
