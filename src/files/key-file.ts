// A key that is kept in a file of the data folder, and its exchange. The file holds the current key and nothing else;
// `<file>.old` holds those before it, each with when it was put aside and until when it is good. The old one
// is written down before the new one takes its place: at no moment is there a key that nobody can find.
//
// `<file>.readers` names the nodes at work that take the key from this very file: they hear of an exchange, others do not.

import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KeyRing } from '../domain/key-ring.ts'
import { systemCode } from '../errors.ts'
import { replaceText } from './replace-text.ts'

export type OldKey = { key: string; since: number; until: number }

/** How long a change by another process may go unseen. */
const LOOK_MS = 1000

export function ringOfFile(path: string, now: () => number = Date.now): KeyRing {
  // The version first: what changes while it is read is read again.
  let seen = versionOf(path)
  let keys = read(path)
  let lookedAt = now()
  const refresh = () => {
    lookedAt = now()
    const version = versionOf(path)
    if (version === seen) return
    keys = read(path)
    seen = version
  }
  const look = () => {
    if (now() - lookedAt >= LOOK_MS) refresh()
    return keys
  }
  return {
    current: () => look().current,
    older: () =>
      look()
        .older.filter(({ until }) => until > now())
        .map(({ key }) => key),
    refresh,
  }
}

function read(path: string): { current: string; older: OldKey[] } {
  return { current: readFileSync(path, 'utf8').trim(), older: oldKeys(path) }
}

/** Other content has another inode: the files are always replaced, never written to. */
function versionOf(path: string): string {
  const of = (one: string) => {
    const found = statSync(one, { throwIfNoEntry: false })
    return `${found?.ino ?? 0}.${found?.mtimeMs ?? 0}`
  }
  return `${of(path)} ${of(oldPath(path))}`
}

function oldPath(path: string): string {
  return `${path}.old`
}

export function oldKeys(path: string): OldKey[] {
  let text = ''
  try {
    text = readFileSync(oldPath(path), 'utf8')
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENOENT') throw thrown
  }
  // Up to its two times: a key that an operator made may have spaces in it, or lines, as `openssl rand` writes them.
  return [...text.matchAll(/([^]+?) (\d+) (\d+)(?:\n|$)/g)].map(([, key = '', since, until]) => ({
    key,
    since: Number(since),
    until: Number(until),
  }))
}

/** Makes a new key current. The one before is good until then; if that is not later than now, no older one is. */
export function exchangeKey(path: string, bytes: number, given: { now: number; until: number }): string {
  const before = readFileSync(path, 'utf8').trim()
  const still = oldKeys(path).filter(({ key, until }) => key !== before && until > given.now)
  const aside = { key: before, since: given.now, until: given.until }
  const fresh = randomBytes(bytes).toString('base64url')
  keepOld(path, given.until > given.now ? [aside, ...still] : [])
  replaceText(path, `${fresh}\n`)
  return fresh
}

/** Forgets what is not in the list. */
export function keepOld(path: string, keys: readonly OldKey[]): void {
  if (keys.length === 0) rmSync(oldPath(path), { force: true })
  else replaceText(oldPath(path), keys.map(({ key, since, until }) => `${key} ${since} ${until}\n`).join(''))
}

/** A killed node cannot take its name away. One that is this old and not at work is of such a node. */
const LEFT_BEHIND_MS = 86_400_000

export function addReader(path: string, node: string, atWork: ReadonlySet<string>): void {
  const folder = readersPath(path)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const name of readersOf(path)) {
    const { mtimeMs = Infinity } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? {}
    if (!atWork.has(name) && mtimeMs < Date.now() - LEFT_BEHIND_MS) removeReader(path, name)
  }
  writeFileSync(join(folder, node), '', { mode: 0o600 })
}

export function removeReader(path: string, node: string): void {
  rmSync(join(readersPath(path), node), { force: true })
}

export function readersOf(path: string): string[] {
  try {
    return readdirSync(readersPath(path))
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENOENT') throw thrown
    return []
  }
}

function readersPath(path: string): string {
  return `${path}.readers`
}
