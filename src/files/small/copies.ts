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

/** Of a file that lies there or its octets, to a new file or (null) into memory. */
export type SmallCopy = { from: { path: string; expected: Expected } | Uint8Array; to: string | null }
/** `octets`: where they were asked for into memory. Undefined: not copied. */
export type Copied = { sha256: string; octets?: Uint8Array } | undefined
export type CopyOrder = { id: number; copies: readonly SmallCopy[]; syncNames: boolean }
export type CopyAnswer = { id: number; copied: Copied[] }

const PATIENCE_MS = 1000
// Beside this file as a source, beside the file this one was joined into (tools/bundle.mjs) as JavaScript.
const WORKER = new URL(import.meta.url.endsWith('.ts') ? 'copy-worker.ts' : 'copy-worker.js', import.meta.url)

type Order = { since: number; answer: (copied?: Copied[]) => void }

export class Copies {
  #thread: SideThread<CopyOrder, CopyAnswer> | undefined
  readonly #orders = new Map<number, Order>()
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
    this.#orders.set(id, { since: performance.now(), answer })
    try {
      this.#thread ??= this.#begin()
      this.#thread.isNeeded()
      this.#thread.say({ id, copies, syncNames })
    } catch {
      // There are no more threads to be had.
      this.#answered(id)
    }
    return promise
  }

  /** Without an answer nothing was copied, as far as anybody knows. */
  #answered(id: number, copied?: Copied[]): void {
    const order = this.#orders.get(id)
    this.#orders.delete(id)
    if (this.#orders.size === 0) this.#thread?.isIdle()
    order?.answer(copied)
  }

  #begin(): SideThread<CopyOrder, CopyAnswer> {
    return new SideThread(WORKER, {
      heard: ({ id, copied }) => this.#answered(id, copied),
      over: () => {
        this.#thread = undefined
        for (const id of this.#orders.keys()) this.#answered(id)
      },
    })
  }
}

/** Into memory. They may lie on any disk. */
export const filesToSend = new Copies()
