// Small files come by the thousand, and asking another thread for each step on one costs several times what the step takes
// in memory or on a quick disk. So such steps are done in the thread that asks, until they take long, as on a slow mount:
// then they go to other threads for a while, because this one must not wait for a slow disk.
//
// A step that took long now and then says nothing of the disk: where the processor is shared, the thread itself was kept
// waiting. So it takes several among many, or a single one that took very long.

const SLOW_MS = 20
const VERY_SLOW_MS = 200
/** So many slow steps, each forgotten after this many that were not. */
const SLOW_STEPS = 3
const FORGOTTEN_AFTER = 100
const SLOW_FOR_MS = 10_000

export class QuickDisk {
  readonly #now: () => number
  #slowUntil = -Infinity
  /** Slow steps that are not forgotten, and what is left until the next one is. */
  #slow = 0
  #forgetIn = FORGOTTEN_AFTER

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  get isQuick(): boolean {
    return this.#slowUntil === -Infinity || this.#now() >= this.#slowUntil
  }

  /** One or several steps, here. */
  do<T>(steps: () => T): T {
    const began = this.#now()
    try {
      return steps()
    } finally {
      const now = this.#now()
      this.#took(now - began, now)
    }
  }

  #took(ms: number, now: number): void {
    if (ms <= SLOW_MS) {
      if (this.#slow > 0 && --this.#forgetIn === 0) this.#forget(this.#slow - 1)
    } else if (++this.#slow === SLOW_STEPS || ms > VERY_SLOW_MS) {
      this.#slowUntil = now + SLOW_FOR_MS
      this.#forget(0)
    }
  }

  #forget(left: number): void {
    this.#slow = left
    this.#forgetIn = FORGOTTEN_AFTER
  }
}
