// Calendars, subscriptions and expectations read, made, changed and removed, by the rules of the platform file.

import { NodeError } from '../../errors.ts'
import type { Present } from '../../platform/plan.ts'
import { toPlatformSubscription } from '../../platform/subscription-record.ts'
import { findSubscription } from '../../store/events/subscriptions.ts'
import { listCalendars } from '../../store/expectations/calendars.ts'
import { findExpectation } from '../../store/expectations/expectations.ts'
import { reachChannel } from '../guard.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'
import { requireMatchOrNew, showTag, tagOf } from '../revision.ts'
import { changePlatform, current, requireThere } from './change.ts'

const calendarOf = ({ calendars }: Pick<Present, 'calendars'>, id: string) =>
  calendars.find((one) => one.id === id)
const expectationOf = ({ expectations }: Pick<Present, 'expectations'>, id: string) =>
  expectations.find((one) => one.id === id)
const subscriptionOf = ({ subscriptions }: Pick<Present, 'subscriptions'>, id: string) =>
  subscriptions.find((one) => one.id === id)

// Calendars

const readCalendar: PlatformHandler<'readCalendar'> = async ({ store }, { input, reply }) => {
  const id = input.calendarId
  const found = requireThere(calendarOf({ calendars: await listCalendars(store.db) }, id), `calendar ${id}`)
  showTag(reply, tagOf(found))
  return found
}

const putCalendar: PlatformHandler<'putCalendar'> = (context, call) => {
  const id = call.input.calendarId
  return changePlatform(context, call, {
    put: { calendars: [{ id, ...call.body }] },
    onlyChannels: [],
    forbid: (present) => requireMatchOrNew(call.request, calendarOf(present, id), `calendar ${id}`),
  })
}

const removeCalendar: PlatformHandler<'removeCalendar'> = (context, call) => {
  const id = call.input.calendarId
  return changePlatform(context, call, {
    remove: { calendars: [id] },
    onlyChannels: { calendar: id },
    forbid: (present) => {
      current(call, present, (all) => calendarOf(all, id), `calendar ${id}`)
      requireUnused(present, id)
    },
  })
}

function requireUnused({ channels, expectations }: Present, id: string): void {
  const users = [
    ...expectations.filter(({ calendar }) => calendar === id).map((one) => `expectation ${one.id}`),
    ...channels
      .filter(({ calendar, automation }) => calendar === id || automation?.calendar === id)
      .map(({ code }) => `channel ${code}`),
  ]
  if (users.length > 0)
    throw new NodeError('conflict', `calendar ${id} is used by ${users.slice(0, 5).join(', ')}`)
}

// Subscriptions

const readSubscription: PlatformHandler<'readSubscription'> = async ({ store }, { input, reply }) => {
  const found = requireThere(
    await findSubscription(store.db, input.subscriptionId),
    `subscription ${input.subscriptionId}`,
  )
  // How its deliveries are going is no part of what is changed.
  const { id, settings, secrets } = found
  showTag(reply, tagOf({ id, settings, secrets }))
  return toPlatformSubscription(found, undefined)
}

const putSubscription: PlatformHandler<'putSubscription'> = (context, call) => {
  const id = call.input.subscriptionId
  return changePlatform(context, call, {
    put: { subscriptions: [{ id, ...call.body }] },
    onlyChannels: [],
    forbid: (present) => requireMatchOrNew(call.request, subscriptionOf(present, id), `subscription ${id}`),
  })
}

const removeSubscription: PlatformHandler<'removeSubscription'> = (context, call) => {
  const id = call.input.subscriptionId
  return changePlatform(context, call, {
    remove: { subscriptions: [id] },
    onlyChannels: [],
    forbid: (present) => void current(call, present, (all) => subscriptionOf(all, id), `subscription ${id}`),
  })
}

// Expectations

const readExpectation: PlatformHandler<'readExpectation'> = async (context, { input, user, reply }) => {
  const id = input.expectationId
  const found = requireThere(await findExpectation(context.store.db, id), `expectation ${id}`)
  await reachChannel(context, user, found.channel)
  showTag(reply, tagOf(found))
  return found
}

const putExpectation: PlatformHandler<'putExpectation'> = (context, call) => {
  const id = call.input.expectationId
  return changePlatform(context, call, {
    put: { expectations: [{ id, ...call.body }] },
    onlyChannels: [],
    forbid: (present) => requireMatchOrNew(call.request, expectationOf(present, id), `expectation ${id}`),
  })
}

const removeExpectation: PlatformHandler<'removeExpectation'> = (context, call) => {
  const id = call.input.expectationId
  return changePlatform(context, call, {
    remove: { expectations: [id] },
    onlyChannels: [],
    forbid: (present) => void current(call, present, (all) => expectationOf(all, id), `expectation ${id}`),
  })
}

export const noticeHandlers = {
  readCalendar,
  readSubscription,
  readExpectation,
  putCalendar,
  removeCalendar,
  putSubscription,
  removeSubscription,
  putExpectation,
  removeExpectation,
} satisfies Partial<PlatformHandlers>
