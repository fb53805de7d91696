// What became of attempts, written down together: a commit for each of a hundred a second would be felt by the engine.
// What is not written yet when a node dies is sent again by the next one: at most MOST per subscription.

import { LONGEST_PAUSE_MS, nextTryAt, SWITCH_OFF_MS } from '../domain/delivery-schedule.ts'
import type { Tx } from '../store/database/store.ts'
import { giveUpWaiting, recordOutcome, releaseWaiting } from '../store/events/deliveries.ts'
import type { Delivery, Outcome, Try } from '../store/events/deliveries.ts'
import { addEvent } from '../store/events/outbox.ts'
import { lockHeld, setHealth, switchOff } from '../store/events/subscriptions.ts'
import type { SubscriptionRecord } from '../store/events/subscriptions.ts'

export type Verdict = 'delivered' | 'failed' | 'gone'

export type Attempted = {
  delivery: Delivery
  verdict: Verdict
  attempt: Try
  retryAfterMs?: number | undefined
}

/** As many failures in a row make an endpoint count as down: it is tried one at a time. */
export const FAILURES_TO_BE_DOWN = 3

export type Health = Pick<SubscriptionRecord, 'failures' | 'failingSince'>

/** `elsewhere`: another node delivers for the subscription by now. */
export type Written = Health | 'off' | 'elsewhere'

type Held = { id: string; owner: string }

function outcomeOf(
  { delivery, verdict, attempt, retryAfterMs = 0 }: Attempted,
  random: () => number = Math.random,
): Outcome {
  const attempts = delivery.attempts + 1
  const wished = attempt.at + Math.min(retryAfterMs, LONGEST_PAUSE_MS)
  const next = verdict === 'failed' ? nextTryAt(attempt.at, attempts, random) : undefined
  return {
    subscriptionId: delivery.subscriptionId,
    position: delivery.position,
    state: verdict === 'delivered' ? 'DELIVERED' : next === undefined ? 'FAILED' : 'PENDING',
    attempts,
    dueAt: next === undefined ? attempt.at : Math.max(next, wished),
    tries: [...delivery.tries, attempt],
    at: attempt.at,
  }
}

/** Several that went in one mail: one attempt, whose repetition takes all of them together again. */
export async function writeTogether(tx: Tx, held: Held, made: readonly Attempted[]): Promise<Written> {
  const jitter = Math.random()
  const written = await writeOutcomes(tx, held, made.slice(0, 1), () => jitter)
  for (const one of made.slice(1))
    if (written !== 'elsewhere' || one.verdict === 'delivered')
      await recordOutcome(
        tx,
        outcomeOf(one, () => jitter),
      )
  return written
}

/**
 * Writes them in their order and returns how the endpoint is doing now. Of a node that no longer holds the subscription
 * only what was delivered counts: failures and the endpoint's health are for the one that holds it now.
 */
export async function writeOutcomes(
  tx: Tx,
  { id, owner }: Held,
  made: readonly Attempted[],
  random: () => number = Math.random,
): Promise<Written> {
  const before = await lockHeld(tx, id, owner)
  if (!before) {
    for (const one of made) if (one.verdict === 'delivered') await recordOutcome(tx, outcomeOf(one, random))
    return 'elsewhere'
  }
  let health = before
  for (const one of made) {
    const { at } = one.attempt
    await recordOutcome(tx, outcomeOf(one, random))
    const recovers = one.verdict === 'delivered' && health.failures >= FAILURES_TO_BE_DOWN
    health = healthAfter(health, one)
    if (recovers) await releaseWaiting(tx, id, { after: at, now: at })
    const why = switchOffReason(health, one)
    if (why !== undefined) {
      await turnOff(tx, id, at, why)
      return 'off'
    }
  }
  if (health !== before) await setHealth(tx, id, health)
  return health
}

function healthAfter(before: Health, { verdict, attempt }: Attempted): Health {
  const { failures, failingSince } = before
  if (verdict === 'delivered') return failures === 0 ? before : { failures: 0, failingSince: null }
  return { failures: failures + 1, failingSince: failingSince ?? attempt.at }
}

function switchOffReason({ failingSince }: Health, { verdict, attempt }: Attempted): string | undefined {
  if (verdict === 'gone') return 'the endpoint answered 410: it is gone'
  if (verdict !== 'failed' || failingSince === null || attempt.at - failingSince < SWITCH_OFF_MS)
    return undefined
  return `nothing was delivered for ${SWITCH_OFF_MS / 86_400_000} days; the last attempt: ${attempt.error ?? 'failed'}`
}

async function turnOff(tx: Tx, id: string, now: number, reason: string): Promise<void> {
  if (!(await switchOff(tx, id, now, reason))) return
  await giveUpWaiting(tx, id, now)
  await addEvent(tx, { type: 'subscription.disabled', at: now, data: { subscription: id, reason } })
}
