// Decides when the partner gets the turn in a session that several transfers share. It does as soon as all of them have
// sent what they had, or when one that needs receipts has waited long enough for the others. One turn serves everybody.
// Turns are not given more often, because a partner with nothing to say ends the session: whoever still had something
// to send would have to call again.
//
// State: how many still send (`#sending`), whether something was sent since the last turn (`#wanted`), and who waits.
// Moves: each transfer begins, has sent (`turn`), and ends. The last one to have sent gives the turn; so does the timer.
// Callers: the session pool alone, one object for each session, one `begin` for each transfer that borrows it.

export type Sharing = {
  /**
   * This transfer has sent what it had. If it waits for receipts, or is the last, this resolves when the partner has had
   * its turn. Otherwise it resolves at once, and the last one gives the turn. Never rejects.
   */
  turn(awaitsReceipts: boolean): Promise<void>
  /** This transfer is gone, whether it has sent or not. */
  end(): Promise<void>
}

/** Some channels need receipts within seconds. While others send on, the turn is given this often. */
const LONGEST_WAIT_MS = 2000

export class SharedTurn {
  readonly #give: () => Promise<void>
  #sending = 0
  /** Something was sent since the last turn. */
  #wanted = false
  #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  /** `give` hands the turn over. It resolves when the turn is back or the session is over, and never rejects. */
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
      turn: (awaitsReceipts) => {
        sent()
        this.#wanted = true
        if (this.#sending === 0) return this.#giveNow()
        return awaitsReceipts ? this.#wait() : Promise.resolve()
      },
      end: () => {
        sent()
        return this.#sending === 0 && this.#wanted ? this.#giveNow() : Promise.resolve()
      },
    }
  }

  #wait(): Promise<void> {
    this.#timer ??= setTimeout(() => void this.#giveNow(), LONGEST_WAIT_MS)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    return promise
  }

  async #giveNow(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#wanted = false
    const waiting = this.#waiting.splice(0)
    await this.#give()
    for (const resolve of waiting) resolve()
  }
}
