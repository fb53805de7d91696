// When the partner gets the turn in a session that several transfers share: as soon as all of them have sent what they
// had, or when the first has waited long enough for the others. One turn serves everybody who waits for it: a partner
// with nothing to say ends the session, and whoever still had to send would have to call again.

export type Sharing = {
  /** This one has sent what it had; resolves when the partner has had its turn. Never rejects. */
  turn(): Promise<void>
  /** This one is gone. */
  end(): void
}

/** Receipts are awaited within seconds by some channels: a session that is never at rest gives the turn this often. */
const LONGEST_WAIT_MS = 2000

export class PartnersTurn {
  readonly #give: () => Promise<void>
  #sending = 0
  #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  /** `give` hands the turn over and resolves when it is back, or the session is over. It never rejects. */
  constructor(give: () => Promise<void>) {
    this.#give = give
  }

  begin(): Sharing {
    let sending = true
    this.#sending++
    const sent = () => {
      if (sending) this.#sending--
      sending = false
    }
    return {
      turn: () => {
        sent()
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#waiting.push(resolve)
        this.#timer ??= setTimeout(() => this.#giveNow(), LONGEST_WAIT_MS)
        this.#giveIfAllSent()
        return promise
      },
      end: () => {
        sent()
        this.#giveIfAllSent()
      },
    }
  }

  #giveIfAllSent(): void {
    if (this.#sending === 0 && this.#waiting.length > 0) this.#giveNow()
  }

  #giveNow(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const waiting = this.#waiting.splice(0)
    // Those who wait are whom shutdown waits for.
    void this.#give().finally(() => {
      for (const resolve of waiting) resolve()
    })
  }
}
