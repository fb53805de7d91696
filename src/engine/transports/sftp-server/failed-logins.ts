// Counts failed sign-ins per account and per address over five minutes, makes each failure slower than the one before
// and closes the door for passwords past a limit. Keys cannot be guessed, so a stranger who fails on purpose cannot
// lock a partner out that signs in with a key. Memory is bounded: the oldest counts go first.

const WINDOW_MS = 5 * 60_000
const MOST_PER_ACCOUNT = 10
const MOST_PER_ADDRESS = 50
const MOST_COUNTED = 10_000
const FIRST_DELAY_MS = 200
const LONGEST_DELAY_MS = 3000

type Count = { failures: number; since: number }

export class FailedLogins {
  readonly #counts = new Map<string, Count>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Whether passwords are not even looked at for now. */
  blocked(account: string, address: string): boolean {
    return this.#of(`u ${account}`) >= MOST_PER_ACCOUNT || this.#of(`a ${address}`) >= MOST_PER_ADDRESS
  }

  /** Counts one failure and says how long its answer should take. */
  failed(account: string, address: string): number {
    this.#add(`a ${address}`)
    const failures = this.#add(`u ${account}`)
    return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 10))
  }

  succeeded(account: string): void {
    this.#counts.delete(`u ${account}`)
  }

  get size(): number {
    return this.#counts.size
  }

  #of(key: string): number {
    const count = this.#counts.get(key)
    return count !== undefined && this.#now() - count.since < WINDOW_MS ? count.failures : 0
  }

  #add(key: string): number {
    const failures = this.#of(key) + 1
    const since = failures === 1 ? this.#now() : (this.#counts.get(key)?.since ?? this.#now())
    // Taken out and put back, the entry becomes the youngest.
    this.#counts.delete(key)
    this.#counts.set(key, { failures, since })
    if (this.#counts.size > MOST_COUNTED) {
      const [oldest] = this.#counts.keys()
      if (oldest !== undefined) this.#counts.delete(oldest)
    }
    return failures
  }
}
