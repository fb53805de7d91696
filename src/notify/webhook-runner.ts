// Delivers to one webhook while this node holds its subscription.
//
// A lane is a channel (or a partner, or the node itself). Within a lane one delivery is on its way at a time, the oldest
// first; lanes go side by side. After a failure the lane waits for the first repetition, a few seconds later; if that
// fails too, the ones behind go ahead: an event that the endpoint cannot take must not hold up a channel for days.
//
// State: what was read ahead and waits its turn; what is on its way, by lane; what is done and not written down yet.
// Nobody else delivers for the subscription until `heldUntil`: past it nothing is begun, because another node may have
// told it already. A node that has lost the subscription stops at `stop`.

import { showEvent } from '../domain/event.ts'
import { dueDeliveries, lanesHeld } from '../store/events/deliveries.ts'
import type { DueDelivery } from '../store/events/deliveries.ts'
import { secretsPlace } from '../store/events/subscriptions.ts'
import type { SubscriptionRecord } from '../store/events/subscriptions.ts'
import { FAILURES_TO_BE_DOWN, writeOutcomes } from './outcomes.ts'
import type { Attempted } from './outcomes.ts'
import type { NotifyParts } from './parts.ts'

const AT_ONCE = 8
const LOOK_AHEAD = 200
/** Written down at the latest after so many, or so long. */
const MOST = 50
const WITHIN_MS = 200
/** What was read ahead is read anew after this, for what has become due before it. */
const AHEAD_FOR_MS = 1000

export class WebhookRunner {
  readonly #parts: NotifyParts
  #subscription: SubscriptionRecord
  #heldUntil: number
  readonly #onItsWay = new Map<string, Promise<void>>()
  /** Positions that are on their way or done and not written down. */
  readonly #taken = new Set<number>()
  #ahead: DueDelivery[] = []
  /** There may be more than was read ahead. */
  #more = false
  #outdated = false
  #readAt = 0
  #reading: Promise<void> | undefined
  /** Begun since the last reading began: what it finds of them is out of date. */
  readonly #begun = new Set<number>()
  #attempted: Attempted[] = []
  #writing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  readonly #stopping = new AbortController()

  constructor(parts: NotifyParts, subscription: SubscriptionRecord, heldUntil: number) {
    this.#parts = parts
    this.#subscription = subscription
    this.#heldUntil = heldUntil
  }

  get heldUntil(): number {
    return this.#heldUntil
  }

  get idle(): boolean {
    return this.#onItsWay.size === 0 && this.#attempted.length === 0
  }

  /** Starts what may be started; to be called whenever something may be due. */
  async look(): Promise<void> {
    if (this.#ahead.length === 0 || performance.now() - this.#readAt > AHEAD_FOR_MS)
      await (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)))
    this.#startNext()
  }

  get #most(): number {
    return this.#subscription.failures >= FAILURES_TO_BE_DOWN ? 1 : AT_ONCE
  }

  async #read(): Promise<void> {
    const { store, now } = this.#parts
    if (this.#stopping.signal.aborted || this.#onItsWay.size >= this.#most) return
    const { id } = this.#subscription
    const known = new Set(this.#taken)
    this.#begun.clear()
    this.#outdated = false
    const due = await dueDeliveries(store.db, id, { now: now(), limit: LOOK_AHEAD })
    const held = due.length === 0 ? new Set<string>() : await lanesHeld(store.db, id, now())
    if (this.#outdated) return this.#read()
    this.#ahead = due.filter(
      ({ position, lane }) => !known.has(position) && !this.#begun.has(position) && !held.has(lane),
    )
    this.#more = due.length === LOOK_AHEAD
    this.#readAt = performance.now()
  }

  #startNext(): void {
    const waiting: DueDelivery[] = []
    const busy = new Set(this.#onItsWay.keys())
    for (const delivery of this.#ahead) {
      const mayStart = this.#onItsWay.size < this.#most && !this.#stopping.signal.aborted
      const isHeld = this.#parts.now() < this.#heldUntil
      if (isHeld && mayStart && !busy.has(delivery.lane)) this.#begin(delivery)
      else waiting.push(delivery)
      // Whatever is behind it in its lane waits for it.
      busy.add(delivery.lane)
    }
    this.#ahead = waiting
  }

  #begin(delivery: DueDelivery): void {
    this.#taken.add(delivery.position)
    this.#begun.add(delivery.position)
    const running = this.#deliver(delivery)
      .catch((thrown: unknown) => {
        this.#taken.delete(delivery.position)
        this.#readAnew()
        if (!this.#stopping.signal.aborted)
          this.#parts.log.warn(
            { err: thrown, subscription: delivery.subscriptionId },
            'a delivery could not be made',
          )
      })
      .finally(() => {
        this.#onItsWay.delete(delivery.lane)
        if (this.#ahead.length > 0) this.#startNext()
        else if (this.#more) void this.look().catch(() => {})
      })
    this.#onItsWay.set(delivery.lane, running)
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    const { poster, seal, zone, now } = this.#parts
    const { id, settings, secrets } = this.#subscription
    const { verdict, retryAfterMs, ...attempt } = await poster.post({
      url: settings.webhook?.url ?? '',
      secrets: secrets === '' ? [] : (JSON.parse(seal.open(secretsPlace(id), secrets)) as string[]), // sealed by apply
      event: showEvent(delivery.event, zone),
      now: now(),
      signal: this.#stopping.signal,
    })
    this.#attempted.push({ delivery, verdict, attempt, retryAfterMs })
    // A failure decides what comes next in its lane: it is known before the lane goes on.
    if (verdict !== 'delivered') {
      await this.#write()
      this.#readAnew()
    } else if (this.#attempted.length >= MOST) await this.#write()
    else this.#timer ??= setTimeout(() => void this.#write().catch(() => {}), WITHIN_MS)
  }

  /** After a failure others wait: what was read before it was known does not count. */
  #readAnew(): void {
    this.#ahead = []
    this.#more = true
    this.#outdated = true
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.catch(() => {}).then(() => this.#writeNow())
    await this.#writing
  }

  async #writeNow(): Promise<void> {
    const some = this.#attempted
    if (some.length === 0) return
    this.#attempted = []
    const { store, owner, log } = this.#parts
    const { id } = this.#subscription
    try {
      const written = await store.write((tx) => writeOutcomes(tx, { id, owner }, some))
      if (written === 'off') {
        log.warn({ subscription: id }, 'a subscription is switched off')
        this.#stopping.abort(new Error('switched off'))
      } else if (written !== 'elsewhere') {
        const recovered = written.failures < this.#subscription.failures
        this.#subscription = { ...this.#subscription, ...written }
        if (recovered) this.#readAnew()
      }
    } finally {
      // What could not be written is sent again: it is due as it was.
      for (const { delivery } of some) this.#taken.delete(delivery.position)
    }
  }

  /** Held anew, with settings and health as the database has them now. False: this one can tell it no longer. */
  refresh(found: SubscriptionRecord, heldUntil: number): boolean {
    if (!found.settings.webhook || this.#stopping.signal.aborted) return false
    if (this.#attempted.length === 0) this.#subscription = found
    this.#heldUntil = heldUntil
    // The hold may have lapsed before: another node may have told what was read then.
    this.#readAnew()
    return true
  }

  /** Nothing new; what is on its way is cut off, what is done is written down. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the node is stopping'))
    await Promise.allSettled(this.#onItsWay.values())
    await this.#write().catch(() => {})
  }
}
