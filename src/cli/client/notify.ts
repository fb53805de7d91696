// `esclusa notify`: subscriptions and deliveries.

import { setTimeout as delay } from 'node:timers/promises'
import type { DeliveryFacts, SubscriptionFacts } from '../../../sdk/index.ts'
import { remark, say, sayJson, sayTable, when } from '../print.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'

const POLL_MS = 250
/** Longer than an endpoint is given to answer. */
const PATIENCE_MS = 30_000

export async function listSubscriptions(options: ClientFlags): Promise<void> {
  await withNode(options, async ({ platform }) => {
    const { content } = await platform.listSubscriptions()
    if (options.json) return sayJson(content)
    sayTable(content.map(subscriptionRow), 'there is no subscription')
  })
}

function subscriptionRow({
  id,
  webhook,
  mail,
  events,
  channels,
  state,
  offReason,
  failures,
  waiting,
}: SubscriptionFacts) {
  return {
    ID: id,
    STATE: state,
    TO: webhook?.url ?? mail?.to.join(', '),
    EVENTS: events.join(', '),
    CHANNELS: channels?.join(', '),
    WAITING: waiting,
    FAILURES: failures || undefined,
    REASON: offReason,
  }
}

/** Goes through the same queue as any event; its first attempt is waited for. */
export async function testSubscription(subscriptionId: string, options: ClientFlags): Promise<void> {
  await withNode(options, async ({ platform }) => {
    const { eventId } = await platform.testSubscription({ subscriptionId })
    const giveUpAt = Date.now() + PATIENCE_MS
    for (;;) {
      const [delivery] = (await platform.listDeliveries({ eventId })).content
      const tried = delivery?.tries.at(-1)
      if (delivery && tried) return sayTest(delivery, options)
      if (Date.now() > giveUpAt) return fail(`no node has tried subscription ${subscriptionId} yet`)
      await delay(POLL_MS)
    }
  })
}

function sayTest(delivery: DeliveryFacts, options: ClientFlags): void {
  const tried = delivery.tries.at(-1)
  const answered = `${tried?.status === undefined ? '' : `${tried.status} `}after ${tried?.tookMs ?? 0} ms`
  if (options.json) sayJson(delivery)
  else if (delivery.state === 'DELIVERED')
    say(`delivered: ${answered}${tried?.error === undefined ? '' : `, but ${tried.error}`}`)
  if (delivery.state === 'DELIVERED') return
  fail(`not delivered, ${answered}: ${tried?.error ?? 'it failed'}`)
}

function fail(why: string): void {
  remark(why)
  process.exitCode = 1
}

export async function enableSubscription(subscriptionId: string, options: ClientFlags): Promise<void> {
  await withNode(options, async ({ platform }) => {
    const facts = await platform.enableSubscription({ subscriptionId })
    if (options.json) return sayJson(facts)
    say(`${facts.id} is ${facts.state}`)
  })
}

export type DeliveryFlags = ClientFlags & { subscription?: string; state?: string; size: number }

export async function deliveries(options: DeliveryFlags): Promise<void> {
  const { subscription, state, size } = options
  await withNode(options, async ({ platform }) => {
    const { content } = await platform.listDeliveries({
      ...(subscription !== undefined && { subscriptionId: subscription }),
      ...(state !== undefined && { state: state as DeliveryFacts['state'] }), // the node says which there are
      size,
    })
    if (options.json) return sayJson(content)
    sayTable(content.map(deliveryRow), 'there is no such delivery')
  })
}

function deliveryRow({ event, subscription, state, attempts, nextTryAt, tries }: DeliveryFacts) {
  const last = tries.at(-1)
  return {
    EVENT: event.id,
    TYPE: event.type,
    CHANNEL: event.channel,
    SUBSCRIPTION: subscription,
    STATE: state,
    ATTEMPTS: attempts,
    STATUS: last?.status,
    ERROR: last?.error,
    NEXT: when(nextTryAt),
  }
}

export async function resend(subscriptionId: string, eventId: string, options: ClientFlags): Promise<void> {
  await withNode(options, async ({ platform }) => {
    const delivery = await platform.resendDelivery({ subscriptionId, eventId })
    if (options.json) return sayJson(delivery)
    say(`${eventId} is sent to ${subscriptionId} once more`)
  })
}
