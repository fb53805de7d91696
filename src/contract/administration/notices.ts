// Calendars, subscriptions and expectations made, changed and removed. The shapes are the platform file's.

import { Calendar, Expectation, name } from '../calendar.ts'
import type { Operation } from '../operations.ts'
import { Type } from '../type.ts'
import { CHANGE, PUT, READ } from './changed.ts'
import { PlatformSubscription } from './platform-file.ts'

const closed = { additionalProperties: false } as const
const CalendarParams = Type.Object({ calendarId: name('Identifier of the calendar.') })
const SubscriptionParams = Type.Object({ subscriptionId: name('Identifier of the subscription.') })
const ExpectationParams = Type.Object({ expectationId: name('Identifier of the expectation.') })

const { id: _calendar, ...calendarFields } = Calendar.properties
const CalendarFields = Type.Object(calendarFields, {
  ...closed,
  description: 'A calendar as it shall be: what is left out is cleared.',
})

const { id: _subscription, ...subscriptionFields } = PlatformSubscription.properties
const SubscriptionFields = Type.Object(subscriptionFields, {
  ...closed,
  description:
    'A subscription as it shall be: what is left out is cleared, but for the secrets of a webhook, which stay. A change switches it on again.',
})

const { id: _expectation, ...expectationFields } = Expectation.properties
const ExpectationFields = Type.Object(expectationFields, {
  ...closed,
  description:
    'An expectation as it shall be: what is left out is cleared. Days that are decided stay as they are.',
})

export const noticeOperations = {
  readCalendar: {
    ...READ,
    path: '/platform/v1/calendars/{calendarId}',
    summary: 'One calendar',
    params: CalendarParams,
    ok: Calendar,
  },
  readSubscription: {
    ...READ,
    path: '/platform/v1/subscriptions/{subscriptionId}',
    summary: 'One subscription as it is set up, without its secrets',
    params: SubscriptionParams,
    ok: PlatformSubscription,
  },
  readExpectation: {
    ...READ,
    path: '/platform/v1/expectations/{expectationId}',
    summary: 'One expectation',
    params: ExpectationParams,
    ok: Expectation,
  },
  putCalendar: {
    ...PUT,
    path: '/platform/v1/calendars/{calendarId}',
    summary: 'Make or change a calendar',
    params: CalendarParams,
    body: CalendarFields,
  },
  removeCalendar: {
    ...CHANGE,
    method: 'DELETE',
    path: '/platform/v1/calendars/{calendarId}',
    summary: 'Remove a calendar',
    params: CalendarParams,
  },
  putSubscription: {
    ...PUT,
    path: '/platform/v1/subscriptions/{subscriptionId}',
    summary: 'Make or change a subscription',
    params: SubscriptionParams,
    body: SubscriptionFields,
  },
  removeSubscription: {
    ...CHANGE,
    method: 'DELETE',
    path: '/platform/v1/subscriptions/{subscriptionId}',
    summary: 'Remove a subscription, with its deliveries',
    params: SubscriptionParams,
  },
  putExpectation: {
    ...PUT,
    path: '/platform/v1/expectations/{expectationId}',
    summary: 'Make or change an expectation',
    params: ExpectationParams,
    body: ExpectationFields,
  },
  removeExpectation: {
    ...CHANGE,
    method: 'DELETE',
    path: '/platform/v1/expectations/{expectationId}',
    summary: 'Remove an expectation, with its days',
    params: ExpectationParams,
  },
} as const satisfies Record<string, Operation>
