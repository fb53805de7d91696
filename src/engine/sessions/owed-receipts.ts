// The receipts that partners are still owed, handed out to their sessions. A partner may have several sessions open, and
// all of them may have the turn at once: each receipt goes over one of them, and they share the work.
//
// Receipts go before files. So one at which every session ends, because the partner does not take it or because it cannot be
// signed, would keep all files back, and the partner would be called for it again and again. From the second time on it
// rests, and for half of that time all others of the partner do, which may not take any.
//
// State: for each contact, which receipts were taken, for as long as a list is in use that may still name them; which were
// told, until that is noted: many are noted in one write; and how often in a row sessions have ended at receipts.

import { setTimeout as delay } from 'node:timers/promises'
import type { OwedReceipt, Reach } from '../transports/transport.ts'

const NOTE_TOGETHER_MS = 25
const FIRST_REST_MS = 15_000
const LONGEST_REST_MS = 3_600_000

type Rest = { failures: number; until: number }
type Taken = { lists: number; ids: Set<string> }
/** Those for the session that are free: others need not even be read. */
type Read = (reach: Reach, isFree: (id: string) => boolean) => Promise<OwedReceipt[]>

export class OwedReceipts {
  readonly #read: Read
  readonly #note: (ids: readonly string[]) => Promise<void>
  readonly #taken = new Map<string, Taken>()
  readonly #told = new Set<string>()
  readonly #receiptsAtRest = new Map<string, Rest>()
  readonly #contactsAtRest = new Map<string, Rest>()
  readonly #now: () => number
  #noting: Promise<void> | undefined

  /** `now` is in milliseconds and never goes back. */
  constructor(
    read: Read,
    note: (ids: readonly string[]) => Promise<void>,
    now: () => number = () => performance.now(),
  ) {
    this.#read = read
    this.#note = note
    this.#now = now
  }

  /** False: the receipt rests, or all of the partner do. */
  mayBeTold(contactId: string, id: string): boolean {
    return !this.#rests(this.#contactsAtRest.get(contactId)) && !this.#rests(this.#receiptsAtRest.get(id))
  }

  #rests(rest: Rest | undefined): boolean {
    return rest !== undefined && this.#now() < rest.until
  }

  /** The partner has confirmed it. Resolves when that is noted. If it cannot be, it is told once more. */
  delivered(id: string): Promise<void> {
    this.#told.add(id)
    this.#receiptsAtRest.delete(id)
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
      const isFree = (id: string) =>
        !this.#told.has(id) && !taken.ids.has(id) && this.mayBeTold(contactId, id)
      const list = await this.#read(reach, isFree)
      const told = () => void this.#contactsAtRest.delete(contactId)
      return untaken(list, { isFree, taken: taken.ids, told }, (id) => {
        if (id !== undefined && !this.#told.has(id)) this.#endedAt(contactId, id)
        done()
      })
    } catch (thrown) {
      done()
      throw thrown
    }
  }

  #endedAt(contactId: string, id: string): void {
    this.#failed(this.#receiptsAtRest, id, 2)
    this.#failed(this.#contactsAtRest, contactId, 1)
  }

  #failed(resting: Map<string, Rest>, key: string, times: number): void {
    const failures = (resting.get(key)?.failures ?? 0) + 1
    const rest = failures === 1 ? 0 : Math.min(FIRST_REST_MS * 2 ** (failures - 2), LONGEST_REST_MS)
    resting.set(key, { failures, until: this.#now() + times * rest })
  }
}

function* untaken(
  list: readonly OwedReceipt[],
  { isFree, taken, told }: { isFree: (id: string) => boolean; taken: Set<string>; told: () => void },
  done: (endedAt: string | undefined) => void,
): Generator<OwedReceipt, void> {
  let at: string | undefined
  try {
    for (const owed of list) {
      // Another session may have taken it since the list was read.
      if (!isFree(owed.id)) continue
      taken.add(owed.id)
      at = owed.id
      yield owed
      told()
      at = undefined
    }
  } finally {
    done(at)
  }
}
