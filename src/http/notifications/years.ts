// What calendars, expectations and cron expressions mean in a year.

import { setImmediate } from 'node:timers/promises'
import { BUILT_IN_CALENDARS } from '../../contract/calendar.ts'
import type { Expectation } from '../../contract/calendar.ts'
import { cronTurnsByDay } from '../../domain/calendar/cron-turns.ts'
import { addDays, weekdayOf, yearOf } from '../../domain/calendar/days.ts'
import type { Day } from '../../domain/calendar/days.ts'
import { dayAt } from '../../domain/calendar/local-time.ts'
import { planOf, windowsOfYear } from '../../domain/calendar/windows.ts'
import type { WorkingDays } from '../../domain/calendar/working-days.ts'
import { isZone, showTime } from '../../domain/time.ts'
import { NodeError } from '../../errors.ts'
import type { Account } from '../../store/accounts.ts'
import { listCalendars as readDefinitions, readCalendars } from '../../store/expectations/calendars.ts'
import { findExpectation } from '../../store/expectations/expectations.ts'
import type { Context } from '../context.ts'
import { openChannel, reachChannel } from '../guard.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'

const SATURDAY = 6
const MOST_TURNS = 10_000

function yearFor(context: Context, year: number | undefined): number {
  return year ?? yearOf(dayAt(context.now(), context.zone))
}

const expectationYear: PlatformHandler<'expectationYear'> = async (context, { input, user }) => {
  const { expectationId } = input
  const expectation = await findExpectation(context.store.db, expectationId)
  if (!expectation || !(await openChannel(context, user, expectation.channel)))
    throw new NodeError('not_found', `there is no expectation ${expectationId}`)
  const year = yearFor(context, input.year)
  return { expectation, year, windows: await windowsOf(context, expectation, year) }
}

async function windowsOf(context: Context, expectation: Expectation, year: number) {
  const plan = planOf(expectation, await readCalendars(context.store.db), context.zone.name)
  return windowsOfYear(plan, year).map(({ day, opensAt, warnsAt, closesAt }) => ({
    day,
    from: showTime(opensAt, context.zone),
    ...(warnsAt !== null && { warnAt: showTime(warnsAt, context.zone) }),
    by: showTime(closesAt, context.zone),
  }))
}

const listCalendars: PlatformHandler<'listCalendars'> = async (context) => ({
  builtIn: [...BUILT_IN_CALENDARS],
  calendars: await readDefinitions(context.store.db),
})

async function requireCalendar(context: Context, id: string): Promise<WorkingDays> {
  const works = (await readCalendars(context.store.db))(id)
  if (!works) throw new NodeError('not_found', `there is no calendar ${id}`)
  return works
}

const calendarYear: PlatformHandler<'calendarYear'> = async (context, { input }) => {
  const works = await requireCalendar(context, input.calendarId)
  const year = yearFor(context, input.year)
  const days: Day[] = []
  for (let day = `${year}-01-01`; day <= `${year}-12-31`; day = addDays(day, 1)) days.push(day)
  return {
    id: input.calendarId,
    year,
    workingDays: days.filter(works).length,
    closed: days.filter((day) => weekdayOf(day) < SATURDAY && !works(day)),
    open: days.filter((day) => weekdayOf(day) >= SATURDAY && works(day)),
  }
}

const cronYear: PlatformHandler<'cronYear'> = async (context, { input, user }) => {
  const asked = await cronAsked(context, user, input)
  const { cron, calendar, onHoliday = 'skip', timezone = context.zone.name } = asked
  if (!isZone(timezone))
    throw new NodeError(
      'bad_request',
      'query parameter timezone must be an IANA time zone such as Europe/Madrid',
    )
  const works = calendar === undefined ? undefined : await requireCalendar(context, calendar)
  const year = yearFor(context, input.year)
  const plan = { cron, timezone, working: works && { works, onHoliday } }
  const times: number[] = []
  try {
    for (const turns of cronTurnsByDay(plan, {
      from: `${year}-01-01`,
      to: `${year}-12-31`,
      most: MOST_TURNS + 1,
    })) {
      times.push(...turns)
      if (times.length > MOST_TURNS) break
      // A year of turns takes some tenths of a second.
      await setImmediate()
    }
  } catch (cause) {
    throw new NodeError('bad_request', 'cron cannot be read', { cause })
  }
  return {
    cron,
    timezone,
    ...(calendar !== undefined && { calendar, onHoliday }),
    year,
    times: times.slice(0, MOST_TURNS).map((at) => showTime(at, context.zone)),
    complete: times.length <= MOST_TURNS,
  }
}

type CronAsked = Pick<Parameters<typeof cronYear>[1]['input'], 'calendar' | 'onHoliday' | 'timezone'> & {
  cron: string
}

async function cronAsked(
  context: Context,
  user: Account,
  input: Parameters<typeof cronYear>[1]['input'],
): Promise<CronAsked> {
  const { channelCode, cron } = input
  if ((channelCode === undefined) === (cron === undefined))
    throw new NodeError('bad_request', 'exactly one of the query parameters channelCode and cron is needed')
  if (cron !== undefined) return { ...input, cron }
  const { automation } = await reachChannel(context, user, channelCode ?? '')
  if (automation?.cron === undefined)
    throw new NodeError('not_found', `channel ${channelCode ?? ''} has no cron expression`)
  const { calendar, onHoliday } = automation
  return { cron: automation.cron, ...(calendar && { calendar }), ...(onHoliday && { onHoliday }) }
}

export const yearHandlers = {
  expectationYear,
  listCalendars,
  calendarYear,
  cronYear,
} satisfies Partial<PlatformHandlers>
