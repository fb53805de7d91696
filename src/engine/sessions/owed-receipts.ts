// The receipts that partners are still owed, handed out to their sessions. A partner may have several sessions open, and
// all of them may have the turn at once: each receipt goes over one of them, and they share the work.
//
// State: for each contact, which receipts were taken, for as long as a list is in use that may still name them.

import type { OwedReceipt, Reach } from '../transports/transport.ts'

type Taken = { lists: number; ids: Set<string> }

export class OwedReceipts {
  readonly #read: (reach: Reach) => Promise<OwedReceipt[]>
  readonly #taken = new Map<string, Taken>()

  constructor(read: (reach: Reach) => Promise<OwedReceipt[]>) {
    this.#read = read
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
      return untaken(await this.#read(reach), taken.ids, done)
    } catch (thrown) {
      done()
      throw thrown
    }
  }
}

function* untaken(
  list: readonly OwedReceipt[],
  taken: Set<string>,
  done: () => void,
): Generator<OwedReceipt, void> {
  try {
    for (const owed of list) {
      if (taken.has(owed.id)) continue
      taken.add(owed.id)
      yield owed
    }
  } finally {
    done()
  }
}
