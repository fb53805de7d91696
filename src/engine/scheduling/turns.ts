// What the automation has to do, one turn at a time for each channel and partner. So many run at once, of which no partner
// has all (in-hand.ts): one that does not answer must not hold up the others. Whatever waits has its turn in the order in which
// it came, among what there is for its partner.

import { InHand } from './in-hand.ts'

const AT_ONCE = 64

type Turn = { key: string; run: () => Promise<void> }

export class Turns {
  readonly #failed: (key: string, thrown: unknown) => void
  readonly #inHand = new InHand(AT_ONCE)
  readonly #waiting = new Map<string, Turn[]>()
  /** Of what waits or runs. */
  readonly #keys = new Set<string>()
  readonly #running = new Set<Promise<void>>()
  #stopped = false

  constructor(failed: (key: string, thrown: unknown) => void) {
    this.#failed = failed
  }

  /** Nothing happens where it waits or runs already. */
  add(contactId: string, key: string, run: () => Promise<void>): void {
    if (this.#stopped || this.#keys.has(key)) return
    this.#keys.add(key)
    const waiting = this.#waiting.get(contactId) ?? []
    waiting.push({ key, run })
    this.#waiting.set(contactId, waiting)
    this.#beginOf(contactId, waiting)
  }

  #beginAll(): void {
    for (const [contactId, waiting] of this.#waiting) this.#beginOf(contactId, waiting)
  }

  #beginOf(contactId: string, waiting: Turn[]): void {
    while (waiting[0] && this.#inHand.room > 0 && this.#inHand.take(contactId)) {
      const { key, run } = waiting[0]
      waiting.shift()
      const running = run()
        .catch((thrown: unknown) => this.#failed(key, thrown))
        .finally(() => {
          this.#running.delete(running)
          this.#keys.delete(key)
          this.#inHand.giveBack(contactId)
          this.#beginAll()
        })
      this.#running.add(running)
    }
    if (waiting.length === 0) this.#waiting.delete(contactId)
  }

  /** What waits is not begun any more. Resolves when what runs is over. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#waiting.clear()
    await Promise.allSettled(this.#running)
  }
}
