// A clock that was set back by an hour would make whatever waits for its time wait that hour longer. So all that waits is
// looked at again then; what must wait for something else (its hours) does so. At the first look nobody knows what the
// clock did: what lies further ahead than any attempt is put counts as left by a clock that was ahead.

import { endWaits } from '../../store/transfers/leases.ts'
import type { EngineContext } from '../engine-context.ts'
import { MAX_PAUSE_MS } from '../sessions/circuit-breaker.ts'

/** Less than this does not matter to anything that waits. */
const NOTICED_MS = 5000

export class ClockWatch {
  readonly #context: EngineContext
  /** Of the clock that nobody can set. */
  #ahead: number | undefined

  constructor(context: EngineContext) {
    this.#context = context
  }

  async look(): Promise<void> {
    const { store, log } = this.#context
    const now = this.#context.now()
    const ahead = now - performance.now()
    const back = this.#ahead === undefined ? undefined : this.#ahead - ahead
    if (back === undefined || back > NOTICED_MS) {
      const after = back === undefined ? now + MAX_PAUSE_MS : now
      const woken = await store.urgent.write((tx) => endWaits(tx, { after, now }))
      if (back !== undefined)
        log.warn(
          { seconds: Math.round(back / 1000), woken },
          'the clock was set back: what waits is looked at',
        )
    }
    this.#ahead = ahead
  }
}
