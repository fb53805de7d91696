// The receipts that partners are still owed, handed out to their sessions. A partner may have several sessions open, and
// all of them may have the turn at once: each receipt goes over one of them, and they share the work.
//
// State: for each contact, which receipts were taken, for as long as a list is in use that may still name them; and which
// were told, until that is noted: many are noted in one write.

import { setTimeout as delay } from 'node:timers/promises'
import type { OwedReceipt, Reach } from '../transports/transport.ts'

const NOTE_TOGETHER_MS = 25

type Taken = { lists: number; ids: Set<string> }
/** Those for the session that are free: others need not even be read. */
type Read = (reach: Reach, isFree: (id: string) => boolean) => Promise<OwedReceipt[]>

export class OwedReceipts {
  readonly #read: Read
  readonly #note: (ids: readonly string[]) => Promise<void>
  readonly #taken = new Map<string, Taken>()
  readonly #told = new Set<string>()
  #noting: Promise<void> | undefined

  constructor(read: Read, note: (ids: readonly string[]) => Promise<void>) {
    this.#read = read
    this.#note = note
  }

  /** The partner has confirmed it. Resolves when that is noted. If it cannot be, it is told once more. */
  delivered(id: string): Promise<void> {
    this.#told.add(id)
    this.#noting ??= delay(NOTE_TOGETHER_MS).then(() => this.#noteAll())
    return this.#noting
  }

  async #noteAll(): Promise<void> {
    this.#noting = undefined
    const ids = [...this.#told]
    try {
      await this.#note(ids)
    } finally {
      for (const id of ids) this.#told.delete(id)
    }
  }

  /** To be walked through at once, to its end or to the first that fails. What fails is owed as before. */
  async take(reach: Reach): Promise<Iterable<OwedReceipt>> {
    const { contactId } = reach
    const taken = this.#taken.get(contactId) ?? { lists: 0, ids: new Set() }
    this.#taken.set(contactId, taken)
    taken.lists++
    const done = () => {
      taken.lists--
      if (taken.lists === 0) this.#taken.delete(contactId)
    }
    try {
      const isFree = (id: string) => !this.#told.has(id) && !taken.ids.has(id)
      return untaken(await this.#read(reach, isFree), isFree, taken.ids, done)
    } catch (thrown) {
      done()
      throw thrown
    }
  }
}

function* untaken(
  list: readonly OwedReceipt[],
  isFree: (id: string) => boolean,
  taken: Set<string>,
  done: () => void,
): Generator<OwedReceipt, void> {
  try {
    for (const owed of list) {
      // Another session may have taken it since the list was read.
      if (!isFree(owed.id)) continue
      taken.add(owed.id)
      yield owed
    }
  } finally {
    done()
  }
}
