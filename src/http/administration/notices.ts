// Calendars, subscriptions and expectations made, changed and removed, by the rules of the platform file.

import { NodeError } from '../../errors.ts'
import type { Present } from '../../platform/plan.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'
import { changePlatform, requireThere } from './change.ts'

const putCalendar: PlatformHandler<'putCalendar'> = (context, call) =>
  changePlatform(context, call, {
    put: { calendars: [{ id: call.input.calendarId, ...call.body }] },
    onlyChannels: [],
  })

const removeCalendar: PlatformHandler<'removeCalendar'> = (context, call) => {
  const { calendarId } = call.input
  return changePlatform(context, call, {
    remove: { calendars: [calendarId] },
    forbid: (present) => {
      requireThere(
        present.calendars.find(({ id }) => id === calendarId),
        `calendar ${calendarId}`,
      )
      requireUnused(present, calendarId)
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

const putSubscription: PlatformHandler<'putSubscription'> = (context, call) =>
  changePlatform(context, call, {
    put: { subscriptions: [{ id: call.input.subscriptionId, ...call.body }] },
    onlyChannels: [],
  })

const removeSubscription: PlatformHandler<'removeSubscription'> = (context, call) => {
  const { subscriptionId } = call.input
  return changePlatform(context, call, {
    remove: { subscriptions: [subscriptionId] },
    onlyChannels: [],
    forbid: ({ subscriptions }) =>
      void requireThere(
        subscriptions.find(({ id }) => id === subscriptionId),
        `subscription ${subscriptionId}`,
      ),
  })
}

const putExpectation: PlatformHandler<'putExpectation'> = (context, call) =>
  changePlatform(context, call, {
    put: { expectations: [{ id: call.input.expectationId, ...call.body }] },
    onlyChannels: [],
  })

const removeExpectation: PlatformHandler<'removeExpectation'> = (context, call) => {
  const { expectationId } = call.input
  return changePlatform(context, call, {
    remove: { expectations: [expectationId] },
    onlyChannels: [],
    forbid: ({ expectations }) =>
      void requireThere(
        expectations.find(({ id }) => id === expectationId),
        `expectation ${expectationId}`,
      ),
  })
}

export const noticeHandlers = {
  putCalendar,
  removeCalendar,
  putSubscription,
  removeSubscription,
  putExpectation,
  removeExpectation,
} satisfies Partial<PlatformHandlers>
