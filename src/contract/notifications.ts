// Operations about what the node tells and what is expected: events, who was told of them and how that went, the days of
// expectations, and what calendars mean. The same kind of table as operations.ts.

import type { Static, TSchema } from 'typebox'
import { Calendar, Expectation, name, ON_HOLIDAY } from './calendar.ts'
import { CHANNEL_CODE_PATTERN } from './channel.ts'
import { NodeEvent } from './event-types.ts'
import type { Operation } from './operations.ts'
import { oneOf } from './schema.ts'
import { Subscription } from './subscription.ts'
import { TRANSFER_DIRECTIONS } from './transfer.ts'
import { Type } from './type.ts'
import { OPERATORS, ROLES, TRANSFER_READERS } from './user.ts'

const optional = Type.Optional
const out = (description: string) => Type.String({ description })
const count = (description: string) => Type.Integer({ description, format: 'int64' })
const time = (description: string) => Type.String({ description, format: 'date-time' })
const text = (description: string, maxLength = 255) =>
  optional(Type.String({ maxLength, pattern: '^[^\\u0000]*$', description }))
const day = (description: string) => Type.String({ format: 'date', description })
const query = <P extends Record<string, TSchema>>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })
const size = optional(
  Type.Integer({ minimum: 1, maximum: 1000, default: 50, description: 'How many; 1000 at the most.' }),
)

// Events

export const EventList = Type.Object(
  {
    content: Type.Array(NodeEvent, { description: 'Events: newest first, or with `after` oldest first.' }),
    next: optional(out('Give it as `before` (or `after`, if that was given) to read on; absent at the end.')),
  },
  { description: 'A stretch of the events.' },
)

const EventQuery = query({
  type: text('Only events of this type; * stands for anything, as in transfer.*'),
  channelCode: text('Only events of this channel.'),
  contactId: text('Only events of this partner.'),
  initialDate: optional(day('First day, yyyy-MM-dd, node’s time zone.')),
  endDate: optional(day('Last day, yyyy-MM-dd, included.')),
  before: text('Only events before the one with this id.'),
  after: text(
    'Only events after the one with this id, oldest first; all that are kept if the database does not know it, because a backup was restored.',
  ),
  size,
})

// Subscriptions and deliveries

const { webhook, ...subscriptionFields } = Subscription.properties

export const SubscriptionFacts = Type.Object(
  {
    ...subscriptionFields,
    webhook: optional(
      Type.Object(
        { url: webhook.properties.url, secrets: count('How many secrets there are; they are never shown.') },
        { description: 'By HTTP.' },
      ),
    ),
    state: oneOf(
      ['ON', 'OFF'] as const,
      'OFF: it was switched off because its endpoint is gone or failed for days.',
    ),
    offAt: optional(time('When it was switched off.')),
    offReason: optional(out('Why.')),
    failures: count('Attempts in a row that failed.'),
    failingSince: optional(time('Since when nothing was delivered.')),
    waiting: count('Deliveries that are still to be made.'),
  },
  { description: 'A subscription and how it is doing.' },
)

const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'FAILED'] as const

export const DeliveryFacts = Type.Object(
  {
    subscription: out('Identifier of the subscription.'),
    event: NodeEvent,
    state: oneOf(DELIVERY_STATES, 'FAILED: given up.'),
    attempts: count('Attempts made.'),
    nextTryAt: optional(time('When it is tried next.')),
    endedAt: optional(time('When it was delivered or given up.')),
    tries: Type.Array(
      Type.Object({
        at: time('When.'),
        status: optional(count('Status of the answer: HTTP’s or SMTP’s.')),
        tookMs: count('Milliseconds.'),
        error: optional(out('What went wrong.')),
        answer: optional(out('The first kilobyte of the answer.')),
      }),
      { description: 'The last attempts, oldest first.' },
    ),
  },
  { description: 'One event for one subscription.' },
)

export const DeliveryList = Type.Object(
  {
    content: Type.Array(DeliveryFacts, { description: 'Deliveries, newest event first.' }),
    next: optional(out('Give it as `before` to read on; absent at the end.')),
  },
  { description: 'A stretch of the deliveries.' },
)

const SubscriptionParams = Type.Object({ subscriptionId: name('Identifier of the subscription.') })
const DeliveryParams = Type.Object({
  ...SubscriptionParams.properties,
  eventId: Type.String({ maxLength: 64, description: 'Identifier of the event.' }),
})

// Expectations

export const EXPECTATION_STATES = ['waiting', 'warned', 'met', 'missed', 'late', 'excess'] as const

export const ExpectedDay = Type.Object(
  {
    expectation: out('Identifier of the expectation.'),
    day: out('yyyy-MM-dd, in its own time zone.'),
    channelCode: out('Code of the channel.'),
    channelName: optional(out('Label of the channel.')),
    direction: oneOf(TRANSFER_DIRECTIONS, 'Which way the files go.'),
    files: optional(out('Names that count; any without it.')),
    atLeast: count('How many are due.'),
    atMost: optional(count('How many there may be.')),
    count: count('How many came.'),
    from: time('When the window opens.'),
    warnAt: optional(time('When a warning is given.')),
    by: time('When they are due.'),
    state: oneOf(
      EXPECTATION_STATES,
      'waiting; warned: due soon; met; missed: due and not there; late: came after all; excess: more than there may be.',
    ),
    changedAt: time('Since when it is in this state.'),
    acknowledgedBy: optional(out('Who has taken note of it.')),
    acknowledgedAt: optional(time('When.')),
    comment: optional(out('What they said.')),
  },
  { description: 'One day of an expectation.' },
)
export type ExpectedDay = Static<typeof ExpectedDay>

const byState = Object.fromEntries(
  EXPECTATION_STATES.map((state) => [state, count(`Days that are ${state}.`)]),
) as Record<(typeof EXPECTATION_STATES)[number], ReturnType<typeof count>>

export const ExpectedDays = Type.Object(
  {
    day: out('The day asked for, yyyy-MM-dd.'),
    byState: Type.Object(byState, { description: 'How many are in each state, whatever the filter.' }),
    content: Type.Array(ExpectedDay, { description: 'By time of the end of the window, then by id.' }),
  },
  { description: 'What is expected on a day.' },
)

const ExpectationParams = Type.Object({ expectationId: name('Identifier of the expectation.') })
const DayParams = Type.Object({
  ...ExpectationParams.properties,
  day: Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'yyyy-MM-dd' }),
})

export const Acknowledgement = Type.Object(
  {
    comment: optional(
      Type.String({ maxLength: 1000, pattern: '^[^\\u0000]*$', description: 'What there is to say.' }),
    ),
  },
  { additionalProperties: false, description: 'Somebody has taken note.' },
)

// Calendars

const year = Type.Integer({ minimum: 1970, maximum: 9998, description: 'Which year.' })
const CalendarParams = Type.Object({ calendarId: name('Identifier of the calendar.') })

export const CalendarList = Type.Object(
  {
    builtIn: Type.Array(Type.String(), { description: 'Calendars that are always there.' }),
    calendars: Type.Array(Calendar, { description: 'Those that the platform describes.' }),
  },
  { description: 'All calendars.' },
)

export const CalendarYear = Type.Object(
  {
    id: out('Identifier of the calendar.'),
    year: count('The year.'),
    workingDays: count('How many working days it has.'),
    closed: Type.Array(out('yyyy-MM-dd'), {
      description: 'Days from Monday to Friday that are no working days.',
    }),
    open: Type.Array(out('yyyy-MM-dd'), { description: 'Saturdays and Sundays that are working days.' }),
  },
  { description: 'The working days of a year.' },
)

export const ExpectationList = Type.Object(
  { content: Type.Array(Expectation, { description: 'By id.' }) },
  { description: 'The expectations themselves, whatever the day.' },
)

export const ExpectationYear = Type.Object(
  {
    expectation: Expectation,
    year: count('The year.'),
    windows: Type.Array(
      Type.Object({
        day: out('yyyy-MM-dd'),
        from: time('Opens.'),
        warnAt: optional(time('Warns.')),
        by: time('Closes.'),
      }),
      { description: 'All windows of the year, in order.' },
    ),
  },
  { description: 'What an expectation means in a year.' },
)

export const CronYear = Type.Object(
  {
    cron: out('The expression.'),
    timezone: out('In whose time.'),
    calendar: optional(out('Whose working days.')),
    onHoliday: optional(oneOf(ON_HOLIDAY, 'What becomes of other days.')),
    year: count('The year.'),
    times: Type.Array(time('One turn.'), {
      description: 'The turns of the year, in order; 10,000 at the most.',
    }),
    complete: Type.Boolean({ description: 'False: there are more.' }),
  },
  { description: 'When a cron expression is due in a year.' },
)

const EVENTS = { tag: 'Events' } as const
const ADMINISTRATION = { ...EVENTS, roles: ROLES, auth: 'administration' } as const
const EXPECTATIONS = { tag: 'Expectations', roles: TRANSFER_READERS } as const

export const notificationOperations = {
  listEvents: {
    ...EVENTS,
    method: 'GET',
    path: '/platform/v1/events',
    summary: 'Read the events, newest first, or on from one',
    roles: ROLES,
    query: EventQuery,
    ok: EventList,
    codes: [400, 401, 403, 500],
  },
  listSubscriptions: {
    ...ADMINISTRATION,
    method: 'GET',
    path: '/platform/v1/subscriptions',
    summary: 'Who is told of events, and how that is going',
    ok: Type.Object({ content: Type.Array(SubscriptionFacts, { description: 'By id.' }) }),
    codes: [400, 401, 403, 500],
  },
  testSubscription: {
    ...ADMINISTRATION,
    method: 'POST',
    path: '/platform/v1/subscriptions/{subscriptionId}/test',
    summary: 'Send a test to one subscription',
    params: SubscriptionParams,
    emptyBody: true,
    ok: Type.Object({ eventId: out('The test’s event: its delivery tells how it went.') }),
    codes: [400, 401, 403, 404, 409, 500],
  },
  enableSubscription: {
    ...ADMINISTRATION,
    method: 'POST',
    path: '/platform/v1/subscriptions/{subscriptionId}/enable',
    summary: 'Switch a subscription on again',
    params: SubscriptionParams,
    emptyBody: true,
    ok: SubscriptionFacts,
    codes: [400, 401, 403, 404, 500],
  },
  listDeliveries: {
    ...ADMINISTRATION,
    method: 'GET',
    path: '/platform/v1/deliveries',
    summary: 'How the telling of events went, newest first',
    query: query({
      subscriptionId: text('Only of this subscription.'),
      eventId: text('Only of this event.'),
      state: optional(oneOf(DELIVERY_STATES, 'Only in this state.')),
      before: text('Only deliveries of events before the one with this id.'),
      size,
    }),
    ok: DeliveryList,
    codes: [400, 401, 403, 500],
  },
  resendDelivery: {
    ...ADMINISTRATION,
    method: 'POST',
    path: '/platform/v1/subscriptions/{subscriptionId}/deliveries/{eventId}/resend',
    summary: 'Deliver an event to a subscription once more',
    params: DeliveryParams,
    emptyBody: true,
    ok: DeliveryFacts,
    codes: [400, 401, 403, 404, 409, 500],
  },
  listExpectations: {
    ...EXPECTATIONS,
    method: 'GET',
    path: '/platform/v1/expectations',
    summary: 'What is expected on a day, and what became of it',
    query: query({
      day: optional(day('yyyy-MM-dd; today without it, with windows of yesterday that are still open.')),
      state: optional(oneOf(EXPECTATION_STATES, 'Only in this state.')),
      channelCode: text('Only of this channel.'),
      contactId: text('Only of channels of this partner.'),
    }),
    ok: ExpectedDays,
    codes: [400, 401, 403, 500],
  },
  expectationRules: {
    ...EXPECTATIONS,
    method: 'GET',
    path: '/platform/v1/expectation-rules',
    summary: 'The expectations themselves, by id',
    ok: ExpectationList,
    codes: [400, 401, 403, 500],
  },
  acknowledgeExpectation: {
    ...EXPECTATIONS,
    method: 'POST',
    path: '/platform/v1/expectations/{expectationId}/days/{day}/acknowledge',
    summary: 'Take note of a day, with a comment',
    roles: OPERATORS,
    auth: 'operate',
    params: DayParams,
    body: Acknowledgement,
    ok: ExpectedDay,
    codes: [400, 401, 403, 404, 500],
  },
  expectationYear: {
    ...EXPECTATIONS,
    method: 'GET',
    path: '/platform/v1/expectations/{expectationId}/year',
    summary: 'On which days and at which times of a year an expectation is due',
    params: ExpectationParams,
    query: query({ year: optional(year) }),
    ok: ExpectationYear,
    codes: [400, 401, 403, 404, 500],
  },
  listCalendars: {
    ...EXPECTATIONS,
    method: 'GET',
    path: '/platform/v1/calendars',
    summary: 'All calendars',
    roles: ROLES,
    ok: CalendarList,
    codes: [400, 401, 403, 500],
  },
  calendarYear: {
    ...EXPECTATIONS,
    method: 'GET',
    path: '/platform/v1/calendars/{calendarId}/year',
    summary: 'The working days of a calendar in a year',
    roles: ROLES,
    params: CalendarParams,
    query: query({ year: optional(year) }),
    ok: CalendarYear,
    codes: [400, 401, 403, 404, 500],
  },
  cronYear: {
    ...EXPECTATIONS,
    method: 'GET',
    path: '/platform/v1/cron-year',
    summary: 'When a cron expression, or the one of a channel, is due in a year',
    query: query({
      channelCode: optional(
        Type.String({ pattern: CHANNEL_CODE_PATTERN, description: 'The automation of this channel.' }),
      ),
      cron: text('An expression, if no channel is given.'),
      calendar: text('Whose working days.'),
      onHoliday: optional(oneOf(ON_HOLIDAY, 'What becomes of other days; skip without it.')),
      timezone: text('IANA name; the node’s without it.'),
      year: optional(year),
    }),
    ok: CronYear,
    codes: [400, 401, 403, 404, 500],
  },
} as const satisfies Record<string, Operation>

export type SubscriptionFacts = Static<typeof SubscriptionFacts>
export type DeliveryFacts = Static<typeof DeliveryFacts>
