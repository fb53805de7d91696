// All that waits is looked at again when the clock was set back; what must wait for something else (its hours) does so.
// At the first look, what lies further ahead than any attempt is put counts as left by a clock that was ahead.
// Leases that reach into the time before the clock was set back are ended one lease time later: until then the living
// have signed by the new clock, and only what the dead held is taken over.

import { SetBack } from '../../domain/set-back.ts'
import { endWaits } from '../../store/transfers/leases.ts'
import { endFutureLeases } from '../../store/transfers/signs-of-life.ts'
import type { EngineContext } from '../engine-context.ts'
import { MAX_PAUSE_MS } from '../sessions/circuit-breaker.ts'

/** The longest that a contact may give its receipts. */
const MAX_RECEIPT_MS = 31 * 86_400_000

export class ClockWatch {
  readonly #context: EngineContext
  readonly #setBack = new SetBack()
  /** By the clock that nobody can set. */
  #endLeasesAt: number | undefined

  constructor(context: EngineContext) {
    this.#context = context
  }

  async look(): Promise<void> {
    const { store, log, leaseMs } = this.#context
    const now = this.#context.now()
    const at = performance.now()
    await this.#setBack.look({ now, before: at, after: at }, async (back) => {
      const isFirst = back === undefined
      const after = isFirst ? now + MAX_PAUSE_MS : now
      const receiptsAfter = isFirst ? now + MAX_RECEIPT_MS : now
      const woken = await store.urgent.write((tx) => endWaits(tx, { after, receiptsAfter, now }))
      if (isFirst) return
      this.#endLeasesAt = at + leaseMs
      log.warn({ seconds: Math.round(back / 1000), woken }, 'the clock was set back: what waits is looked at')
    })
    if (this.#endLeasesAt !== undefined && at >= this.#endLeasesAt) await this.#endLeases()
  }

  async #endLeases(): Promise<void> {
    const { store, heartbeat, leaseMs } = this.#context
    // Our own sign first: without it we would take over what we hold ourselves.
    await heartbeat.beat()
    await store.urgent.write((tx) => endFutureLeases(tx, this.#context.now(), leaseMs))
    this.#endLeasesAt = undefined
  }
}
