// Finds due transfers and has them run, as many at once as is useful. Keeps their leases. Stops those that were reset or
// lost.
//
// State: what this engine holds (`#held`: transfer, fence and how to stop it), how many of them it has claimed by itself and
// runs, by partner (`#inHand`), what is ours in the database but in
// nobody's hand (`#strays`), the work that a stop must wait for (`#running`), and whether it is looking for due
// transfers right now (`#state`).
// Moves of `#state`: idle -> looking -> idle. A wake while it looks makes it look again. `drain` makes it stopped, and
// nothing leads out of that.
// Callers: engine.ts starts, wakes and drains it, and passes on cancellations. Sessions and receptions `hold` what they
// run themselves, `release` it, and `launch` claims of their own. Any of them may call at any time.
//
// It is woken by writes and by a clock of one second. With leases shorter than four seconds the clock runs four times in
// a lease: what a dead node held must be found within two.

import { NodeError } from '../../errors.ts'
import { claimDue } from '../../store/transfers/claims.ts'
import { heldBy, letGo, nextDueAt } from '../../store/transfers/leases.ts'
import type { Choice, Claim } from '../../store/transfers/claims.ts'
import type { Held } from '../../store/transfers/leases.ts'
import { wasCancelled } from '../../store/transfers/transfers.ts'
import type { Session } from '../transports/transport.ts'
import type { EngineContext } from '../engine-context.ts'
import { ClockWatch } from './clock-watch.ts'
import { InHand } from './in-hand.ts'

const TICK_MS = 1000
/** Claimed transfers for each place to work in: enough that files of many channels can take turns. */
const IN_HAND_PER_SLOT = 32

/**
 * Where others of the partner are still in hand, a place that becomes free waits for more of them: to look for what is due
 * costs about as much for many as for one.
 */
const GATHER_MS = 20
const GATHER_MOST = 8

/** To look past what waits of partners that are full may take a part of the time, not all of it. */
const PAST_REST = 10

/** What to do with a claim, and with a transfer that was reset while this engine did not hold it. */
export type Steps = {
  run: (claim: Claim, signal: AbortSignal, given?: Session) => Promise<void>
  clear: (transferId: string) => Promise<void>
}

export class Dispatcher {
  readonly #context: EngineContext
  readonly #steps: Steps
  readonly #inHand: InHand
  readonly #tickMs: number
  readonly #held = new Map<string, { held: Held; stop: AbortController }>()
  /** Held in the database but not in memory: the answer to a claim was lost, or an end could not be written. */
  #strays = new Map<string, { held: Held; since: number }>()
  #keeping: Promise<void> | undefined
  readonly #running = new Set<Promise<void>>()
  #state: 'idle' | 'looking' | 'look again' | 'stopped' = 'idle'
  #looking: Promise<void> = Promise.resolve()
  #lookedAt = 0
  /** Whether the last look was to go past what waits of partners that are full, and from when on the next one may. */
  #past: 'not needed' | 'looked' | 'put off' = 'not needed'
  #pastAgainAt = 0
  #clock: NodeJS.Timeout | undefined
  /** How many places have become free since the last look. */
  #freed = 0
  #gathering: NodeJS.Timeout | undefined
  readonly #clockWatch: ClockWatch
  #renewal: NodeJS.Timeout | undefined

  constructor(context: EngineContext, workers: number, steps: Steps) {
    this.#context = context
    this.#steps = steps
    this.#clockWatch = new ClockWatch(context)
    this.#inHand = new InHand(workers * IN_HAND_PER_SLOT)
    this.#tickMs = Math.min(TICK_MS, context.leaseMs / 4)
  }

  start(): void {
    this.#renewal = setInterval(() => {
      this.#keeping ??= this.#keep().finally(() => (this.#keeping = undefined))
    }, this.#context.leaseMs / 3)
    this.wake()
  }

  wake(): void {
    if (this.#state === 'looking') this.#state = 'look again'
    if (this.#state !== 'idle') return
    this.#state = 'looking'
    clearTimeout(this.#clock)
    this.#looking = this.#look()
  }

  /** A place of this partner's has become free. */
  #freePlace(contactId: string): void {
    this.#inHand.giveBack(contactId)
    this.#freed++
    if (!this.#inHand.has(contactId) || this.#freed >= GATHER_MOST) this.wake()
    else this.#gathering ??= setTimeout(() => this.wake(), GATHER_MS)
  }

  async #look(): Promise<void> {
    let due: number | undefined
    try {
      do {
        this.#state = 'looking'
        this.#freed = 0
        clearTimeout(this.#gathering)
        this.#gathering = undefined
        await this.#claim()
        // Who wakes it while this is read may have made something due.
        if (this.#state === 'looking') due = await nextDueAt(this.#context.store.urgent.db)
      } while ((this.#state as string) === 'look again')
    } catch (thrown) {
      this.#context.log.error({ err: thrown }, 'due transfers could not be claimed; trying again')
    }
    if ((this.#state as string) === 'stopped') return
    this.#state = 'idle'
    const tick = this.#tickMs
    // What was due and is not claimed waits for others of its partner's to end, which wakes.
    const next = due === undefined || due <= this.#lookedAt ? tick : due - this.#context.now()
    const past = this.#past === 'put off' ? this.#pastAgainAt - performance.now() : tick
    this.#clock = setTimeout(() => this.wake(), Math.max(1, Math.min(tick, next, past)))
  }

  async #claim(): Promise<void> {
    const { room } = this.#inHand
    if (room <= 0) return
    await this.#clockWatch.look()
    await this.#context.heartbeat.ensure()
    const now = this.#context.now()
    this.#lookedAt = now
    this.#past = 'not needed'
    const began = performance.now()
    const claims = await claimDue(
      this.#context.store,
      { owner: this.#context.owner, now, until: now + this.#context.leaseMs },
      room,
      () => this.#choice(),
    )
    if ((this.#past as string) === 'looked') {
      const took = performance.now() - began
      this.#pastAgainAt = performance.now() + Math.min(PAST_REST * took, this.#tickMs)
    }
    for (const { contactId = '', ...claim } of claims) {
      this.#inHand.add(contactId)
      void this.#run(claim, { ended: () => this.#freePlace(contactId) })
    }
    if (claims.length === room && this.#state === 'looking') this.#state = 'look again'
  }

  /** Where thousands wait for one partner, it is not at each of their ends that others are looked for behind them. */
  #choice(): Choice {
    const trial = this.#inHand.copy()
    return {
      take: (contactId) => trial.take(contactId),
      full: () => trial.full(),
      looksPast: () => {
        const may = this.#past === 'looked' || performance.now() >= this.#pastAgainAt
        this.#past = may ? 'looked' : 'put off'
        return may
      },
    }
  }

  /** Runs a claim that the caller has taken. Resolves when the run is over. */
  launch(claim: Claim, given: Session): Promise<void> {
    return this.#run(claim, { given })
  }

  #run(
    claim: Claim,
    { given, ended = () => this.wake() }: { given?: Session; ended?: () => void },
  ): Promise<void> {
    const held = { id: claim.transfer.id, fence: claim.transfer.fence }
    const signal = this.hold(held)
    const running = this.#steps
      .run(claim, signal, given)
      .catch((thrown: unknown) =>
        this.#context.log.error(
          { err: thrown, transfer: held.id },
          'a transfer could not be brought to an end; it is let go when its lease is over',
        ),
      )
      .finally(() => {
        this.release(held)
        this.#running.delete(running)
        ended()
      })
    this.#running.add(running)
    return running
  }

  /** Keeps the lease of a transfer that is run elsewhere in the engine (a reception). */
  hold(held: Held): AbortSignal {
    const stop = new AbortController()
    this.#held.set(held.id, { held, stop })
    return stop.signal
  }

  release(held: Held): void {
    if (this.#held.get(held.id)?.held.fence === held.fence) this.#held.delete(held.id)
  }

  background(running: Promise<void>): void {
    const tracked = running
      .catch((thrown: unknown) => this.#context.log.error({ err: thrown }, 'work in the background failed'))
      .finally(() => this.#running.delete(tracked))
    this.#running.add(tracked)
  }

  /** A transfer that we do not run may still have left files: it waited for its next attempt, or its node died. */
  cancel(transferId: string): void {
    const held = this.#held.get(transferId)
    if (held) held.stop.abort(new NodeError('cancelled', `transfer ${transferId} was cancelled by a reset`))
    else this.background(this.#steps.clear(transferId))
  }

  /** Beats, then compares with the database: stops what was reset or taken over, and lets strays go. */
  async #keep(): Promise<void> {
    const { heartbeat, store, owner, log } = this.#context
    const held = [...this.#held.values()].map((one) => one.held)
    try {
      await heartbeat.beat()
      const ours = await heldBy(store.urgent.db, owner)
      const fences = new Map(ours.map(({ id, fence }) => [id, fence]))
      for (const { id, fence } of held) if (fences.get(id) !== fence) this.#stopLost(id, fence)
      const strays = this.#strayed(ours)
      if (strays.length > 0) await store.urgent.write((tx) => letGo(tx, strays))
    } catch (thrown) {
      log.warn({ err: thrown }, 'leases could not be renewed')
    }
  }

  /** Strays that are older than a lease. A younger one may have just been claimed, with the answer still to come. */
  #strayed(ours: readonly Held[]): Held[] {
    const now = this.#context.now()
    const before = this.#strays
    this.#strays = new Map()
    for (const held of ours) {
      if (this.#held.get(held.id)?.held.fence === held.fence) continue
      const known = before.get(held.id)
      const since = known?.held.fence === held.fence ? known.since : now
      this.#strays.set(held.id, { held, since })
    }
    return [...this.#strays.values()]
      .filter(({ since }) => now - since > this.#context.leaseMs)
      .map(({ held }) => held)
  }

  /** It was reset or taken over, so it is not ours any more. The runner removes what a reset leaves behind. */
  #stopLost(id: string, fence: number): void {
    const reason = async () => {
      return (await wasCancelled(this.#context.store.db, id)) ? 'cancelled' : 'lease_lost'
    }
    this.background(
      reason().then((code) => {
        const held = this.#held.get(id)
        if (held?.held.fence === fence)
          held.stop.abort(new NodeError(code, `transfer ${id} is no longer held`))
      }),
    )
  }

  /** Claims nothing new. What runs gets this time to end; then it is stopped and given back. */
  async drain(drainMs: number): Promise<void> {
    this.#state = 'stopped'
    clearTimeout(this.#clock)
    clearTimeout(this.#gathering)
    await this.#looking
    const timer = setTimeout(() => this.#stopAll(), drainMs)
    while (this.#running.size > 0) await Promise.allSettled([...this.#running])
    clearTimeout(timer)
    clearInterval(this.#renewal)
    await this.#keeping
    await this.#context.heartbeat
      .end()
      .catch((thrown: unknown) => this.#context.log.debug({ err: thrown }, 'the sign of life stays behind'))
  }

  #stopAll(): void {
    for (const { stop } of this.#held.values())
      stop.abort(new NodeError('unavailable', 'the node is stopping'))
  }
}
