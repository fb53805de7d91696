// Delivers to one webhook while this node holds its subscription.
//
// A lane is a channel (or a partner, or the node itself). Within a lane one delivery is on its way at a time, the oldest
// first; lanes go side by side. After a failure the lane waits for the first repetition, a few seconds later; if that
// fails too, the ones behind go ahead: an event that the endpoint cannot take must not hold up a channel for days.
//
// State: what is on its way, by lane; what is done and not written down yet. Nobody else delivers for the subscription
// meanwhile; a node that has lost it stops at `stop`.

import { showEvent } from '../domain/event.ts'
import { dueDeliveries, lanesHeld } from '../store/events/deliveries.ts'
import type { DueDelivery } from '../store/events/deliveries.ts'
import { findSubscription, secretsPlace } from '../store/events/subscriptions.ts'
import type { SubscriptionRecord } from '../store/events/subscriptions.ts'
import { FAILURES_TO_BE_DOWN, writeOutcomes } from './outcomes.ts'
import type { Attempted } from './outcomes.ts'
import type { NotifyParts } from './parts.ts'

const AT_ONCE = 8
const LOOK_AHEAD = 200
/** Written down at the latest after so many, or so long. */
const MOST = 50
const WITHIN_MS = 50

export class WebhookRunner {
  readonly #parts: NotifyParts
  #subscription: SubscriptionRecord
  readonly #onItsWay = new Map<string, Promise<void>>()
  /** Positions that are on their way or done and not written down. */
  readonly #taken = new Set<number>()
  #attempted: Attempted[] = []
  #writing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  readonly #stopping = new AbortController()

  constructor(parts: NotifyParts, subscription: SubscriptionRecord) {
    this.#parts = parts
    this.#subscription = subscription
  }

  get idle(): boolean {
    return this.#onItsWay.size === 0 && this.#attempted.length === 0
  }

  /** Starts what may be started; to be called whenever something may be due. */
  async look(): Promise<void> {
    const { store, now } = this.#parts
    if (this.#stopping.signal.aborted) return
    const { id, failures } = this.#subscription
    const most = failures >= FAILURES_TO_BE_DOWN ? 1 : AT_ONCE
    if (this.#onItsWay.size >= most) return
    const due = await dueDeliveries(store.db, id, { now: now(), limit: LOOK_AHEAD })
    if (due.length === 0) return
    const held = await lanesHeld(store.db, id, now())
    for (const delivery of due) {
      if (this.#onItsWay.size >= most || this.#stopping.signal.aborted) return
      if (this.#taken.has(delivery.position)) continue
      if (!held.has(delivery.lane) && !this.#onItsWay.has(delivery.lane)) this.#begin(delivery)
      // Whatever is behind it in its lane waits with it.
      held.add(delivery.lane)
    }
  }

  #begin(delivery: DueDelivery): void {
    this.#taken.add(delivery.position)
    const running = this.#deliver(delivery)
      .catch((thrown: unknown) => {
        this.#taken.delete(delivery.position)
        if (!this.#stopping.signal.aborted)
          this.#parts.log.warn(
            { err: thrown, subscription: delivery.subscriptionId },
            'a delivery could not be made',
          )
      })
      .finally(() => {
        this.#onItsWay.delete(delivery.lane)
        void this.look().catch(() => {})
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
    if (verdict !== 'delivered' || this.#attempted.length >= MOST) await this.#write()
    else this.#timer ??= setTimeout(() => void this.#write().catch(() => {}), WITHIN_MS)
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
    const { store, log } = this.#parts
    const { id } = this.#subscription
    try {
      const health = await store.write((tx) => writeOutcomes(tx, id, this.#subscription, some))
      if (health) this.#subscription = { ...this.#subscription, ...health }
      else {
        log.warn({ subscription: id }, 'a subscription is switched off')
        this.#stopping.abort(new Error('switched off'))
      }
    } finally {
      // What could not be written is sent again: it is due as it was.
      for (const { delivery } of some) this.#taken.delete(delivery.position)
    }
  }

  /** Settings and health as the database has them now. */
  async refresh(): Promise<void> {
    const found = await findSubscription(this.#parts.store.db, this.#subscription.id)
    if (found && this.#attempted.length === 0) this.#subscription = found
  }

  /** Nothing new; what is on its way is cut off, what is done is written down. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the node is stopping'))
    await Promise.allSettled(this.#onItsWay.values())
    await this.#write().catch(() => {})
  }
}
