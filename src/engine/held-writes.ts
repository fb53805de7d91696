// Writes about the files of one transfer, each under its claim. Those that come while one is being committed share the
// next: one look at the claim and one commit for all of them, on either database. Each is answered when it is durable. If
// one of them cannot be done, the others are done without it, so a change may run more than once: it must do nothing but
// write to the database.

import { NodeError } from '../errors.ts'
import type { Dialect, Store, Tx } from '../store/database/store.ts'
import { requireHeld } from '../store/transfers/leases.ts'
import type { Held } from '../store/transfers/leases.ts'

type Change = (tx: Tx) => Promise<void>
type Entry = { change: Change; resolve: () => void; reject: (thrown: unknown) => void }

/** A transaction holds locks: it must not grow without end. */
const MOST_TOGETHER = 128

const writers = new WeakMap<Held, HeldWriter>()

/** Resolves when the change is durable. Rejects, with nothing written, when the transfer is not ours any more. */
export function writeHeld(store: Store, held: Held, change: Change): Promise<void> {
  const writer = writers.get(held) ?? new HeldWriter(store, held)
  writers.set(held, writer)
  return writer.add(change)
}

class HeldWriter {
  readonly #store: Store
  readonly #held: Held
  #waiting: Entry[] = []
  #state: 'idle' | 'writing' = 'idle'

  constructor(store: Store, held: Held) {
    this.#store = store
    this.#held = held
  }

  add(change: Change): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject })
      if (this.#state === 'writing') return
      this.#state = 'writing'
      void this.#drain()
    })
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      let entries: Entry[] = []
      try {
        await this.#store.write((tx) => {
          // Whatever has come by the time the database is free goes along. It may be asked twice, after a deadlock.
          if (entries.length === 0) entries = this.#waiting.splice(0, MOST_TOGETHER)
          return this.#write(tx, entries)
        })
        for (const { resolve } of entries) resolve()
      } catch (thrown) {
        // The database did not let it begin.
        if (entries.length === 0) entries = this.#waiting.splice(0)
        if (entries.length === 1 || isForAll(thrown)) for (const { reject } of entries) reject(thrown)
        else await this.#oneByOne(entries)
      }
    }
    this.#state = 'idle'
  }

  async #write(tx: Tx, entries: readonly Entry[]): Promise<void> {
    await requireHeld(tx, this.#store.dialect, this.#held)
    await writeEach(this.#store.dialect, entries, ({ change }) => change(tx))
  }

  async #oneByOne(entries: readonly Entry[]): Promise<void> {
    for (const entry of entries)
      await this.#store.write((tx) => this.#write(tx, [entry])).then(entry.resolve, entry.reject)
  }
}

/** Several changes in one transaction, each about a file of its own. */
export async function writeEach<T>(
  { rowLocks }: Dialect,
  all: readonly T[],
  write: (one: T) => Promise<void>,
): Promise<void> {
  // SQLite may roll back by itself (a full disk): a statement after that would be written without a transaction. It
  // answers at once, so that nothing is gained by asking for several.
  if (!rowLocks) {
    for (const one of all) await write(one)
    return
  }
  // None has to wait for another. But none may still write when this ends.
  const writing = all.map(write)
  try {
    await Promise.all(writing)
  } finally {
    await Promise.allSettled(writing)
  }
}

/** The transfer is lost, or the database does not answer: none of them can be written. */
function isForAll(thrown: unknown): boolean {
  return thrown instanceof NodeError && ['cancelled', 'lease_lost', 'unavailable'].includes(thrown.code)
}
