// What pushes leave in a partner's inbox until the engine has recorded their outcome: hidden files named after the
// file's key, so that a later attempt finds them.
//
//   .esclusa-KEY.ATTEMPT.part   written by that attempt alone, and linked by it to the real name
//   .esclusa-KEY.done           the `.part` once the partner could see the file, which it may take away at once
//
// State: nothing but the names in the inbox, and the listings that this session has read. Whatever counts is on disk.
// Moves: a `.part` appears, is linked to the real name, becomes `.done`, and is forgotten once the engine has recorded
// the file. `takeOver` settles what earlier attempts left; `discard` removes all of it.
// Callers: the folder session, for one file in this order: `takeOver`, the push itself, `forget`. `discard` is for files
// that nobody goes on with.
//
// A node that slept may wake in the middle of an attempt that another has taken over. Renaming its `.part` shuts it
// out: it can no longer give anything its real name. And nobody ever cuts a `.part` short, so a late write of it only
// repeats bytes that are there.

import { hash, randomUUID } from 'node:crypto'
import { readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../../../errors.ts'
import type { FileKey } from '../file-key.ts'
import type { WireFile } from '../transport.ts'
import { isQuickHere, removeQuickly } from './small-files.ts'

export type Names = { part: string; done: string; target: string }

const LISTINGS_KEPT = 64

export class PushMarkers {
  readonly #inbox: string
  /** Of the attempts of this session: one look at the folder serves all files of a transfer. */
  readonly #listings = new Map<string, Promise<string[]>>()

  constructor(inbox: string) {
    this.#inbox = inbox
  }

  namesFor(file: Pick<WireFile, 'key' | 'name' | 'transferId' | 'attempt'>): Names {
    const stem = this.#stem(file.key)
    const attempt = hash('sha256', attemptOf(file) ?? randomUUID()).slice(0, 12)
    return {
      part: join(this.#inbox, `${stem}.${attempt}.part`),
      done: this.#done(stem),
      target: join(this.#inbox, file.name),
    }
  }

  #stem({ name, date, time }: FileKey): string {
    return `.esclusa-${hash('sha256', `${name}\0${date}\0${time}`).slice(0, 32)}`
  }

  #done(stem: string): string {
    return join(this.#inbox, `${stem}.done`)
  }

  /**
   * Takes over what earlier attempts left. True: one of them got as far as the real name, and its `.done` lies here.
   * Otherwise a `.part` of theirs may have become this attempt's own.
   */
  async takeOver(file: WireFile, { part, done }: Names): Promise<boolean> {
    const stem = `${this.#stem(file.key)}.`
    for (const name of await this.#listing(file)) {
      if (!name.startsWith(stem) || !name.endsWith('.part')) continue
      const old = join(this.#inbox, name)
      if (old !== part && !(await wasRenamed(old, part))) continue
      // A second name is the one that the partner has seen, wherever it has put the file since.
      if (((await stat(part).catch(() => undefined))?.nlink ?? 1) < 2) continue
      await rename(part, done)
      return true
    }
    return stat(done).then(
      () => true,
      () => false,
    )
  }

  /** All that attempts at these files have left, whoever made them. */
  async discard(find: () => Promise<readonly FileKey[]>): Promise<void> {
    const names = (await readdir(this.#inbox)).filter((name) => name.startsWith('.esclusa-'))
    if (names.length === 0) return
    const stems = new Set((await find()).map((key) => this.#stem(key)))
    for (const name of names)
      if (stems.has(name.slice(0, name.indexOf('.', 1)))) await rm(join(this.#inbox, name), { force: true })
  }

  async forget(key: FileKey): Promise<void> {
    const done = this.#done(this.#stem(key))
    if (isQuickHere()) removeQuickly(done)
    else await unlink(done).catch(() => {}) // costs a name in the inbox, nothing else
  }

  #listing(file: WireFile): Promise<string[]> {
    const attempt = attemptOf(file)
    const known = attempt === undefined ? undefined : this.#listings.get(attempt)
    if (known) return known
    const listing = readdir(this.#inbox).then((names) => names.filter((name) => name.startsWith('.esclusa-')))
    if (attempt === undefined) return listing
    this.#listings.set(attempt, listing)
    for (const oldest of this.#listings.keys()) {
      if (this.#listings.size <= LISTINGS_KEPT) break
      this.#listings.delete(oldest)
    }
    return listing
  }
}

/** The same for all files of a claim. */
function attemptOf({ transferId, attempt }: Pick<WireFile, 'transferId' | 'attempt'>): string | undefined {
  return attempt === undefined ? undefined : `${transferId} ${attempt}`
}

async function wasRenamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return false
    throw thrown
  }
}
