// Small files come by the thousand, and asking another thread for each step on one costs several times what the step takes
// in memory or on a quick disk. So such steps are done in the thread that asks, until one takes long, as on a slow mount:
// then they go to other threads for a while, because this one must not wait for a slow disk.

const SLOW_MS = 20
const SLOW_FOR_MS = 10_000

export class QuickDisk {
  #slowUntil = 0

  get isQuick(): boolean {
    return performance.now() >= this.#slowUntil
  }

  /** One or several steps, here. */
  do<T>(steps: () => T): T {
    const began = performance.now()
    try {
      return steps()
    } finally {
      const now = performance.now()
      if (now - began > SLOW_MS) this.#slowUntil = now + SLOW_FOR_MS
    }
  }
}
