// How many claimed transfers this engine has in hand, by partner. They are so many that files of many channels can take
// turns. One partner has half of them at most, and each that has none still gets one where all are given, up to a bound:
// a partner that is slow, or does not answer at all, holds what is sent to it for long, and must not hold up the others.

/** What is not bounded: a partner's first, up to so many times what there may be in hand. */
const EXTRA = 8

export class InHand {
  readonly #most: number
  readonly #of: Map<string, number>
  #all: number

  constructor(most: number, of: ReadonlyMap<string, number> = new Map(), all = 0) {
    this.#most = most
    this.#of = new Map(of)
    this.#all = all
  }

  /** To try with. */
  copy(): InHand {
    return new InHand(this.#most, this.#of, this.#all)
  }

  /** How many may be claimed at once. */
  get room(): number {
    return Math.min(this.#most, this.#most * EXTRA - this.#all)
  }

  /** False: for the moment no more of this partner's. */
  take(contactId: string): boolean {
    const has = this.#of.get(contactId) ?? 0
    if (has > 0 && has >= this.#share()) return false
    this.add(contactId)
    return true
  }

  add(contactId: string): void {
    this.#of.set(contactId, (this.#of.get(contactId) ?? 0) + 1)
    this.#all++
  }

  giveBack(contactId: string): void {
    const left = (this.#of.get(contactId) ?? 1) - 1
    this.#all--
    if (left > 0) this.#of.set(contactId, left)
    else this.#of.delete(contactId)
  }

  /** Whether there is any of this partner's. */
  has(contactId: string): boolean {
    return this.#of.has(contactId)
  }

  /** The partners of which no more may be taken. */
  full(): string[] {
    const share = this.#share()
    return [...this.#of].filter(([, has]) => has >= share).map(([contactId]) => contactId)
  }

  #share(): number {
    return this.#all < this.#most ? this.#most / 2 : 1
  }
}
