// Writes about the files of one transfer, each under its claim. Those that come while one is being committed share the
// next: one look at the claim and one commit for all of them, on either database. Each is answered when it is durable. If
// one of them cannot be done, the others are done without it, so a change may run more than once: it must do nothing but
// write to the database. What nobody waits for (`soon`) waits a little for company: it goes with the next that is urgent.

import { NodeError } from '../errors.ts'
import type { Store, Tx } from '../store/database/store.ts'
import { requireHeld } from '../store/transfers/leases.ts'
import type { Held } from '../store/transfers/leases.ts'

type Change = (tx: Tx) => Promise<void>
type Entry = { change: Change; resolve: () => void; reject: (thrown: unknown) => void }

/** A transaction holds locks: it must not grow without end. */
const MOST_TOGETHER = 128
/** What may wait does so until this many wait, or for so long. */
const ENOUGH = 8
const SOON_MS = 40

const writers = new WeakMap<Held, HeldWriter>()

/** Resolves when the change is durable. Rejects, with nothing written, when the transfer is not ours any more. */
export function writeHeld(
  store: Store,
  held: Held,
  change: Change,
  when: 'now' | 'soon' = 'now',
): Promise<void> {
  const writer = writers.get(held) ?? new HeldWriter(store, held)
  writers.set(held, writer)
  return writer.add(change, when)
}

/** What was to be written soon is waited for now. */
export function hurry(held: Held): void {
  writers.get(held)?.begin()
}

class HeldWriter {
  readonly #store: Store
  readonly #held: Held
  #waiting: Entry[] = []
  #state: 'idle' | 'writing' = 'idle'
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store, held: Held) {
    this.#store = store
    this.#held = held
  }

  add(change: Change, when: 'now' | 'soon'): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject })
      if (this.#state === 'writing') return
      if (when === 'soon' && this.#waiting.length < ENOUGH)
        this.#timer ??= setTimeout(() => this.begin(), SOON_MS)
      else this.begin()
    })
  }

  begin(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#state === 'writing' || this.#waiting.length === 0) return
    this.#state = 'writing'
    void this.#drain()
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
    // SQLite may roll back by itself (a full disk): a statement after that would be written without a transaction. It
    // answers at once, so that nothing is gained by asking for several.
    if (!this.#store.dialect.rowLocks) {
      for (const { change } of entries) await change(tx)
      return
    }
    // Each is about files of its own, so none has to wait for another. But none may still write when this ends.
    const changes = entries.map(({ change }) => change(tx))
    try {
      await Promise.all(changes)
    } finally {
      await Promise.allSettled(changes)
    }
  }

  async #oneByOne(entries: readonly Entry[]): Promise<void> {
    for (const entry of entries)
      await this.#store.write((tx) => this.#write(tx, [entry])).then(entry.resolve, entry.reject)
  }
}

/** The transfer is lost, or the database does not answer: none of them can be written. */
function isForAll(thrown: unknown): boolean {
  return thrown instanceof NodeError && ['cancelled', 'lease_lost', 'unavailable'].includes(thrown.code)
}
