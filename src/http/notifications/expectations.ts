// Days of expectations: seen, and taken note of.

import { EXPECTATION_STATES } from '../../contract/notifications.ts'
import type { ExpectedDay } from '../../contract/notifications.ts'
import type { Day } from '../../domain/calendar/days.ts'
import { dayAt } from '../../domain/calendar/local-time.ts'
import { planOf } from '../../domain/calendar/windows.ts'
import { plannedDay } from '../../domain/expectation-day.ts'
import type { ExpectationDay } from '../../domain/expectation-day.ts'
import { showTime, startOfDay } from '../../domain/time.ts'
import { NodeError } from '../../errors.ts'
import type { Account } from '../../store/accounts.ts'
import { readCalendars } from '../../store/expectations/calendars.ts'
import { acknowledgeDay, daysOf, daysOpenAt, findDay } from '../../store/expectations/expectation-days.ts'
import { listExpectations as readExpectations } from '../../store/expectations/expectations.ts'
import { actorOf } from '../actor.ts'
import type { Context } from '../context.ts'
import { openChannel } from '../guard.ts'
import type { Boards } from '../platform/channel-board.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'

/** The days that this user may see: of a date, or of today with what is still open of yesterday. */
export async function visibleDays(context: Context, user: Account, date?: string): Promise<ExpectationDay[]> {
  const { db } = context.store
  const now = context.now()
  const day = date ?? dayAt(now, context.zone)
  const made = await daysOf(db, day)
  const open = date === undefined ? (await daysOpenAt(db, now)).filter((one) => one.day !== day) : []
  const ahead = day > dayAt(now, context.zone) ? await daysAhead(context, day, made) : []
  const view = await context.channelAccess(db, user)
  return [...open, ...made, ...ahead]
    .filter(({ channelCode }) => view.reaches(channelCode))
    .sort((a, b) => a.closesAt - b.closesAt || (a.expectationId < b.expectationId ? -1 : 1))
}

/** Days that are farther ahead than those that have been made. */
async function daysAhead(
  context: Context,
  day: Day,
  made: readonly ExpectationDay[],
): Promise<ExpectationDay[]> {
  const calendars = await readCalendars(context.store.db)
  const known = new Set(made.map(({ expectationId }) => expectationId))
  const all = (await readExpectations(context.store.db)).filter(({ id }) => !known.has(id))
  return all.flatMap((expectation) => {
    const plan = planOf(expectation, calendars, context.zone.name)
    if (plan.next(day) !== day) return []
    const window = plan.window(day)
    return [plannedDay(expectation, window, window.closesAt, context.now())]
  })
}

const expectationRules: PlatformHandler<'expectationRules'> = async (context, { user }) => {
  const view = await context.channelAccess(context.store.db, user)
  const all = await readExpectations(context.store.db)
  return { content: all.filter(({ channel }) => view.reaches(channel)) }
}

export function makeExpectationHandlers(boardOf: Boards) {
  const listExpectations: PlatformHandler<'listExpectations'> = async (context, { input, user }) => {
    const { day, state, channelCode, contactId } = input
    if (day !== undefined && startOfDay(day, context.zone) === undefined)
      throw new NodeError('bad_request', 'query parameter day must be a real date, yyyy-MM-dd')
    const { catalogue } = await boardOf(context, user)
    const nameOf = (code: string) => catalogue.channels.get(code)?.config.name
    const all = (await visibleDays(context, user, day)).filter(
      (one) =>
        (channelCode === undefined || one.channelCode === channelCode) &&
        (contactId === undefined || catalogue.channels.get(one.channelCode)?.contactId === contactId),
    )
    return {
      day: day ?? dayAt(context.now(), context.zone),
      byState: countStates(all),
      content: all
        .filter((one) => state === undefined || one.state === state)
        .map((one) => dayToWire(context, one, nameOf(one.channelCode))),
    }
  }
  return { listExpectations, expectationRules, acknowledgeExpectation } satisfies Partial<PlatformHandlers>
}

export function countStates(days: readonly ExpectationDay[]) {
  const counts = Object.fromEntries(EXPECTATION_STATES.map((state) => [state, 0])) as Record<
    (typeof EXPECTATION_STATES)[number],
    number
  >
  for (const { state } of days) counts[state]++
  return counts
}

export function dayToWire(
  { zone }: Context,
  day: ExpectationDay,
  channelName: string | undefined,
): ExpectedDay {
  const show = (at: number) => showTime(at, zone)
  return {
    expectation: day.expectationId,
    day: day.day,
    channelCode: day.channelCode,
    ...(channelName !== undefined && { channelName }),
    direction: day.direction,
    ...(day.files !== null && { files: day.files }),
    atLeast: day.atLeast,
    ...(day.atMost !== null && { atMost: day.atMost }),
    count: day.count,
    from: show(day.opensAt),
    ...(day.warnsAt !== null && { warnAt: show(day.warnsAt) }),
    by: show(day.closesAt),
    state: day.state,
    changedAt: show(day.changedAt),
    ...(day.acknowledgedBy !== null && { acknowledgedBy: day.acknowledgedBy }),
    ...(day.acknowledgedAt !== null && { acknowledgedAt: show(day.acknowledgedAt) }),
    ...(day.comment !== null && { comment: day.comment }),
  }
}

const acknowledgeExpectation: PlatformHandler<'acknowledgeExpectation'> = async (context, call) => {
  const { expectationId, day } = call.input
  const { db } = context.store
  const found = await findDay(db, expectationId, day)
  const channel = found && (await openChannel(context, call.user, found.channelCode))
  if (!channel) throw new NodeError('not_found', `expectation ${expectationId} has no day ${day}`)
  const { comment = null } = call.body
  await context.store.write(async (tx) => {
    await acknowledgeDay(
      tx,
      { expectationId, day },
      { username: call.user.username, comment, now: context.now() },
    )
    await context.audit.add(tx, actorOf(call), [
      {
        action: 'EXPECTATION_ACKNOWLEDGED',
        subject: { kind: 'expectation', name: expectationId },
        channelCode: found.channelCode,
        ...(comment !== null && { note: comment }),
        facts: { day, state: found.state },
      },
    ])
  })
  const after = await findDay(db, expectationId, day)
  return dayToWire(context, after ?? found, channel.config.name)
}
