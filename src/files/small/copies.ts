// Copies of small files by the dozen, made in a thread of their own: read (or given as octets), checked, hashed, written and
// synced there, while the thread that asks has other work. To ask for each alone would cost more than it gains. What cannot
// be copied is only said to be so: whoever asked does it in the usual way, and finds out why.
//
// State: the thread, begun with the first copies; the orders that it has, oldest first.
// A disk that does not answer would hold up the copies of everybody. So while an order is not answered for a second, no
// further one is to be given, and who waits for octets in memory waits no longer: what comes late harms nobody. Those who use
// different disks have a thread each.

import { SideThread } from './side-thread.ts'
import type { Expected } from '../unchanged.ts'

/** A file that lies there. */
type Lying = { path: string; expected: Expected }
/** Of a file to a new one or (null) into memory, or of octets to a new file. */
export type SmallCopy = { from: Lying; to: string | null } | { from: Uint8Array; to: string }
/** `octets`: where they were asked for into memory. Undefined: not copied. */
export type Copied = { sha256: string; octets?: Uint8Array } | undefined
/**
 * As it goes to the thread: a list for each column and one piece of memory, because an object or a piece for each file costs
 * both threads several times as much. `paths`: null where octets are given, which stand one after the other in `given`.
 */
export type CopyOrder = {
  id: number
  paths: readonly (string | null)[]
  sizes: readonly number[]
  times: readonly number[]
  to: readonly (string | null)[]
  given: ArrayBuffer
  syncNames: boolean
}
/** `read` has the octets that were asked for into memory, one after the other. `given` comes back, to be used again. */
export type CopyAnswer = { id: number; sha256: (string | undefined)[]; read: ArrayBuffer; given: ArrayBuffer }

const PATIENCE_MS = 1000
// Beside this file as a source, beside the file this one was joined into (tools/bundle.mjs) as JavaScript.
const WORKER = new URL(import.meta.url.endsWith('.ts') ? 'copy-worker.ts' : 'copy-worker.js', import.meta.url)

/** Most orders fit into so many octets: memory of that size is kept for the next ones. */
const KEPT_OCTETS = 1024 * 1024
const MOST_KEPT = 2

type Order = { since: number; copies: readonly SmallCopy[]; answer: (copied?: Copied[]) => void }

export class Copies {
  #thread: SideThread<CopyOrder, CopyAnswer> | undefined
  readonly #orders = new Map<number, Order>()
  readonly #kept: ArrayBuffer[] = []
  #last = 0

  get isQuick(): boolean {
    const [oldest] = this.#orders.values()
    return !oldest || performance.now() - oldest.since < PATIENCE_MS
  }

  /** New files are durable when they are told; their names in the folder only where that is asked for. Never rejects. */
  make(copies: readonly SmallCopy[], syncNames = false): Promise<Copied[]> {
    const id = ++this.#last
    const none = copies.map(() => undefined)
    const { promise, resolve } = Promise.withResolvers<Copied[]>()
    const late = copies.every(({ to }) => to === null)
      ? setTimeout(() => resolve(none), PATIENCE_MS)
      : undefined
    const answer = (copied: Copied[] = none) => {
      clearTimeout(late)
      resolve(copied)
    }
    this.#orders.set(id, { since: performance.now(), copies, answer })
    try {
      this.#thread ??= this.#begin()
      this.#thread.isNeeded()
      const given = this.#gather(copies)
      this.#thread.say({ id, ...columnsOf(copies), given, syncNames }, [given])
    } catch {
      // There are no more threads to be had.
      this.#answered(id)
    }
    return promise
  }

  /** Without an answer nothing was copied, as far as anybody knows. */
  #answered(id: number, answer?: CopyAnswer): void {
    const order = this.#orders.get(id)
    this.#orders.delete(id)
    if (this.#orders.size === 0) this.#thread?.isIdle()
    if (answer?.given.byteLength === KEPT_OCTETS && this.#kept.length < MOST_KEPT)
      this.#kept.push(answer.given)
    if (order) order.answer(answer && copiedOf(order.copies, answer))
  }

  /** The octets that are given, in one piece. */
  #gather(copies: readonly SmallCopy[]): ArrayBuffer {
    const octets = copies.reduce((sum, { from }) => sum + (from instanceof Uint8Array ? from.length : 0), 0)
    if (octets === 0) return new ArrayBuffer(0)
    const kept = octets <= KEPT_OCTETS ? this.#kept.pop() : undefined
    const all = new Uint8Array(kept ?? new ArrayBuffer(Math.max(octets, KEPT_OCTETS)))
    let used = 0
    for (const { from } of copies)
      if (from instanceof Uint8Array) {
        all.set(from, used)
        used += from.length
      }
    return all.buffer
  }

  #begin(): SideThread<CopyOrder, CopyAnswer> {
    return new SideThread(WORKER, {
      heard: (answer) => this.#answered(answer.id, answer),
      over: () => {
        this.#thread = undefined
        for (const id of this.#orders.keys()) this.#answered(id)
      },
    })
  }
}

function columnsOf(copies: readonly SmallCopy[]): Pick<CopyOrder, 'paths' | 'sizes' | 'times' | 'to'> {
  const paths: (string | null)[] = []
  const sizes: number[] = []
  const times: number[] = []
  const to: (string | null)[] = []
  for (const copy of copies) {
    const { from } = copy
    const isGiven = from instanceof Uint8Array
    paths.push(isGiven ? null : from.path)
    sizes.push(isGiven ? from.length : from.expected.size)
    times.push(isGiven ? 0 : from.expected.modifiedAt)
    to.push(copy.to)
  }
  return { paths, sizes, times, to }
}

function copiedOf(copies: readonly SmallCopy[], { sha256: hashes, read }: CopyAnswer): Copied[] {
  let used = 0
  return copies.map(({ from, to }, nth) => {
    const sha256 = hashes[nth]
    if (to !== null || from instanceof Uint8Array) return sha256 === undefined ? undefined : { sha256 }
    const octets = new Uint8Array(read, used, from.expected.size)
    used += octets.length
    return sha256 === undefined ? undefined : { sha256, octets }
  })
}

/** Into memory. They may lie on any disk. */
export const filesToSend = new Copies()
