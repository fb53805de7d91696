// Subscriptions and deliveries: seen, tried, sent again, switched on.

import type { DeliveryFacts, SubscriptionFacts } from '../../contract/notifications.ts'
import { showEvent } from '../../domain/event.ts'
import type { EventRecord } from '../../domain/event.ts'
import { showTime } from '../../domain/time.ts'
import { NodeError } from '../../errors.ts'
import { takeSome } from '../../notify/take-events.ts'
import { countWaiting, findDeliveries, sendAgain } from '../../store/events/deliveries.ts'
import type { DueDelivery } from '../../store/events/deliveries.ts'
import { addEvent } from '../../store/events/outbox.ts'
import {
  countSecrets,
  findSubscription,
  listSubscriptions as readSubscriptions,
  switchOn,
} from '../../store/events/subscriptions.ts'
import type { SubscriptionRecord } from '../../store/events/subscriptions.ts'
import { actorOf } from '../actor.ts'
import type { Context } from '../context.ts'
import type { PlatformHandler } from '../platform/handler.ts'
import { positionAt, sightOf } from './events.ts'

const DEFAULT_SIZE = 50
/** Read at once; some of them the user may not see. */
const LOOK_AHEAD = 500
/** Looked at for one answer; `next` goes on from there. */
const MOST_LOOKS = 20

export const listSubscriptions: PlatformHandler<'listSubscriptions'> = async (context) => {
  const all = await readSubscriptions(context.store.db)
  return { content: await toWire(context, all) }
}

export const testSubscription: PlatformHandler<'testSubscription'> = async (context, call) => {
  const { subscriptionId } = call.input
  const { state, offReason } = await requireSubscription(context, subscriptionId)
  if (state === 'OFF')
    throw new NodeError(
      'conflict',
      `subscription ${subscriptionId} is switched off: ${offReason ?? ''}; enable it first`,
    )
  const now = context.now()
  const eventId = await context.store.write(async (tx) => {
    await addEvent(tx, {
      type: 'subscription.test',
      at: now,
      data: { subscription: subscriptionId, requestedBy: call.user.username },
    })
    await context.audit.add(tx, actorOf(call), [
      { action: 'SUBSCRIPTION_TESTED', subject: { kind: 'subscription', name: subscriptionId } },
    ])
    // Its place is given at once, so that the caller can ask for its delivery.
    for (;;) {
      const taken = await takeSome(tx, context.store, context.zone, now)
      const test = taken.find((event) => isTestOf(event, subscriptionId))
      if (test || taken.length === 0) return test?.id
    }
  })
  context.wake({ kind: 'due' })
  if (eventId === undefined) throw new NodeError('internal', 'the test was not found among the events')
  return { eventId }
}

function isTestOf({ type, data }: EventRecord, subscriptionId: string): boolean {
  return type === 'subscription.test' && 'subscription' in data && data.subscription === subscriptionId
}

export const enableSubscription: PlatformHandler<'enableSubscription'> = async (context, call) => {
  const { subscriptionId } = call.input
  const before = await requireSubscription(context, subscriptionId)
  await context.store.write(async (tx) => {
    await switchOn(tx, subscriptionId)
    await context.audit.add(tx, actorOf(call), [
      {
        action: 'SUBSCRIPTION_CHANGED',
        subject: { kind: 'subscription', name: subscriptionId },
        changes: context.audit.changes({ state: before.state }, { state: 'ON' }, []),
      },
    ])
  })
  const [facts] = await toWire(context, [await requireSubscription(context, subscriptionId)])
  if (!facts) throw new NodeError('not_found', `there is no subscription ${subscriptionId}`)
  return facts
}

export const listDeliveries: PlatformHandler<'listDeliveries'> = async (context, { input, user }) => {
  const { subscriptionId, eventId, state, before, size = DEFAULT_SIZE } = input
  const filter = { subscriptionId, state, position: positionAt(eventId, 'eventId') }
  let beforePosition = positionAt(before, 'before')
  const sees = await sightOf(context, user)
  const seen: DueDelivery[] = []
  let next: string | undefined
  for (let look = 0; look < MOST_LOOKS && seen.length <= size; look++) {
    const found = await findDeliveries(context.store.db, { ...filter, beforePosition }, LOOK_AHEAD + 1)
    const whole = wholeEvents(found, LOOK_AHEAD)
    seen.push(...whole.filter(({ event }) => sees(event)))
    const last = whole.at(-1)
    next = found.length > whole.length ? last?.event.id : undefined
    beforePosition = last?.position
    if (next === undefined) break
  }
  const shown = wholeEvents(seen, size)
  if (seen.length > shown.length) next = shown.at(-1)?.event.id
  return {
    content: shown.map((one) => deliveryToWire(context, one)),
    ...(next !== undefined && { next }),
  }
}

/** A page ends between two events, so that the next one can go on from the last of this. */
function wholeEvents(found: readonly DueDelivery[], size: number): readonly DueDelivery[] {
  if (found.length <= size) return found
  const cut = found[size]?.position
  const whole = found.slice(0, size).filter(({ position }) => position !== cut)
  return whole.length > 0 ? whole : found.slice(0, size)
}

export const resendDelivery: PlatformHandler<'resendDelivery'> = async (context, call) => {
  const { subscriptionId, eventId } = call.input
  const { state } = await requireSubscription(context, subscriptionId)
  if (state === 'OFF')
    throw new NodeError('conflict', `subscription ${subscriptionId} is switched off: enable it first`)
  const position = positionAt(eventId, 'eventId') ?? 0
  const sees = await sightOf(context, call.user)
  const find = async () => (await findDeliveries(context.store.db, { subscriptionId, position }, 1))[0]
  const before = await find()
  const done = await context.store.write(async (tx) => {
    const found =
      before !== undefined &&
      sees(before.event) &&
      (await sendAgain(tx, { subscriptionId, position }, context.now()))
    if (found)
      await context.audit.add(tx, actorOf(call), [
        {
          action: 'DELIVERY_RESENT',
          subject: { kind: 'subscription', name: subscriptionId },
          facts: { event: eventId },
        },
      ])
    return found
  })
  const delivery = done ? await find() : undefined
  if (!delivery)
    throw new NodeError('not_found', `subscription ${subscriptionId} has no delivery of event ${eventId}`)
  context.wake({ kind: 'due' })
  return deliveryToWire(context, delivery)
}

async function requireSubscription(context: Context, id: string): Promise<SubscriptionRecord> {
  const found = await findSubscription(context.store.db, id)
  if (!found) throw new NodeError('not_found', `there is no subscription ${id}`)
  return found
}

async function toWire(context: Context, all: readonly SubscriptionRecord[]): Promise<SubscriptionFacts[]> {
  const waiting = await countWaiting(
    context.store.db,
    all.map(({ id }) => id),
  )
  return all.map((one) => {
    const { webhook, mail, events, channels } = one.settings
    return {
      id: one.id,
      ...(webhook && { webhook: { url: webhook.url, secrets: countSecrets(one, context.seal) } }),
      ...(mail && { mail }),
      events,
      ...(channels && { channels }),
      state: one.state,
      ...(one.offAt !== null && { offAt: showTime(one.offAt, context.zone) }),
      ...(one.offReason !== null && { offReason: one.offReason }),
      failures: one.failures,
      ...(one.failingSince !== null && { failingSince: showTime(one.failingSince, context.zone) }),
      waiting: waiting.get(one.id) ?? 0,
    }
  })
}

function deliveryToWire({ zone }: Context, delivery: DueDelivery): DeliveryFacts {
  const { subscriptionId, event, state, attempts, dueAt, endedAt, tries } = delivery
  return {
    subscription: subscriptionId,
    event: showEvent(event, zone),
    state,
    attempts,
    ...(state === 'PENDING' && { nextTryAt: showTime(dueAt, zone) }),
    ...(endedAt !== null && { endedAt: showTime(endedAt, zone) }),
    tries: tries.map(({ at, ...rest }) => ({ at: showTime(at, zone), ...rest })),
  }
}
