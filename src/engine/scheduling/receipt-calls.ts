// When to call partners for receipts that they owe us. A receipt comes when the partner has the turn; one whose line broke
// before, or that makes it later, and that does not call by itself, would keep the channel waiting until the deadline. So it
// is called: soon at first, then more and more seldom.
//
// State: for each partner that owes receipts, when it is called next. Each node has its own, and loses it with its end.

const FIRST_MS = 60_000
const LONGEST_MS = 900_000

export class ReceiptCalls {
  readonly #turns = new Map<string, { at: number; wait: number }>()

  /** Of those that owe receipts now, whom to call. To be asked again and again: who owes none any more is forgotten. */
  due(owing: readonly string[], now: number): string[] {
    const still = new Set(owing)
    for (const contactId of this.#turns.keys()) if (!still.has(contactId)) this.#turns.delete(contactId)
    const due: string[] = []
    for (const contactId of owing) {
      const turn = this.#turns.get(contactId)
      // A clock that was set back must not put it off for longer than a turn takes.
      if (turn && now < turn.at && turn.at - turn.wait <= now) continue
      if (turn) due.push(contactId)
      const wait = turn ? Math.min(turn.wait * 2, LONGEST_MS) : FIRST_MS
      this.#turns.set(contactId, { at: now + wait, wait })
    }
    return due
  }
}
