// Copies of small files by the dozen, made in a thread of their own: read, checked, hashed, written and synced there, while
// the thread that asks has other work. To ask for each alone would cost more than it gains. What cannot be copied is only
// said to be so: whoever asked does it in the usual way, and finds out why.
//
// State: the thread, begun with the first copies; the orders that it has, oldest first.
// A disk that does not answer would hold up the copies of everybody. So while an order is not answered for a second, no
// further one is taken.

import { availableParallelism } from 'node:os'
import { SideThread } from './side-thread.ts'
import type { Expected } from '../unchanged.ts'

export type SmallCopy = { from: string; expected: Expected; to: string }
export type CopyOrder = { id: number; copies: readonly SmallCopy[] }
/** SHA-256 in hex; undefined: not copied. */
export type CopyAnswer = { id: number; hashes: (string | undefined)[] }

const PATIENCE_MS = 1000
// Beside this file as a source, beside the file this one was joined into (tools/bundle.mjs) as JavaScript.
const WORKER = new URL(import.meta.url.endsWith('.ts') ? 'copy-worker.ts' : 'copy-worker.js', import.meta.url)

type Order = { since: number; answer: (hashes: CopyAnswer['hashes']) => void; none: CopyAnswer['hashes'] }

let thread: SideThread<CopyOrder, CopyAnswer> | undefined
const orders = new Map<number, Order>()
let last = 0

/** On a single core there is nothing to gain. */
export function takesCopies(): boolean {
  const [oldest] = orders.values()
  return availableParallelism() > 1 && (!oldest || performance.now() - oldest.since < PATIENCE_MS)
}

/** New files, durable, but for their names in the folder. */
export function copySmall(copies: readonly SmallCopy[]): Promise<CopyAnswer['hashes']> {
  const id = ++last
  thread ??= begin()
  thread.isNeeded()
  thread.say({ id, copies })
  return new Promise((answer) => {
    orders.set(id, { since: performance.now(), answer, none: copies.map(() => undefined) })
  })
}

function begin(): SideThread<CopyOrder, CopyAnswer> {
  return new SideThread(WORKER, {
    heard: ({ id, hashes }) => {
      const order = orders.get(id)
      orders.delete(id)
      if (orders.size === 0) thread?.isIdle()
      order?.answer(hashes)
    },
    over: () => {
      thread = undefined
      const unanswered = [...orders.values()]
      orders.clear()
      for (const { answer, none } of unanswered) answer(none)
    },
  })
}
