// Makes the days of expectations ahead of time: of each there is always one whose window has not opened. After a time
// in which no node ran, the days in between are made too, and the clock decides them as it finds them.

import { DAY_MS } from '../../domain/time.ts'
import type { Expectation } from '../../contract/calendar.ts'
import { addDays as daysAfter } from '../../domain/calendar/days.ts'
import { planOf } from '../../domain/calendar/windows.ts'
import type { ExpectationPlan } from '../../domain/calendar/windows.ts'
import type { Calendars } from '../../domain/calendar/working-days.ts'
import { afterFile, dayOfFile, plannedDay } from '../../domain/expectation-day.ts'
import type { DayEvent, ExpectationDay } from '../../domain/expectation-day.ts'
import type { Zone } from '../../domain/time.ts'
import type { Tx } from '../../store/database/store.ts'
import { eventsOfChannelSince } from '../../store/events/list.ts'
import { readCalendars } from '../../store/expectations/calendars.ts'
import { addDays } from '../../store/expectations/expectation-days.ts'
import { expectationsToPlan, setPlanned } from '../../store/expectations/expectations.ts'
import type { ExpectationRecord } from '../../store/expectations/expectations.ts'
import { tellDay } from './change-days.ts'
import { fileOf, isMeant } from './count-files.ts'

/** After a longer time without any node, older days are left alone. */
const MOST_DAYS_BACK = 31
/** No window ends later than this many days after its day. */
const LONGEST = 8

/** How many expectations were planned. */
export async function planDays(tx: Tx, zone: Zone, now: number, limit: number): Promise<number> {
  const some = await expectationsToPlan(tx, now, limit)
  if (some.length === 0) return 0
  const calendars = await readCalendars(tx)
  for (const record of some) await planOne(tx, record, calendars, zone, now)
  return some.length
}

async function planOne(
  tx: Tx,
  { expectation, plannedThrough }: ExpectationRecord,
  calendars: Calendars,
  zone: Zone,
  now: number,
): Promise<void> {
  const plan = planOf(expectation, calendars, zone.name)
  const made = daysToMake(expectation, plan, plannedThrough, now)
  const last = made.at(-1)
  const told = await countPast(tx, made, now)
  // A day that was decided under what the expectation said before stays so, and nothing is told of it again.
  for (const day of await addDays(tx, made)) await tellDay(tx, day, told.get(day.day) ?? [], zone, now)
  await setPlanned(tx, expectation.id, {
    plannedThrough: last?.day ?? plannedThrough,
    // Where no day comes for years: perhaps its calendar will be another one tomorrow.
    planAt: last?.opensAt ?? now + DAY_MS,
  })
}

function daysToMake(
  expectation: Expectation,
  plan: ExpectationPlan,
  plannedThrough: string,
  now: number,
): ExpectationDay[] {
  const today = plan.today(now)
  const earliest = daysAfter(today, plannedThrough === '' ? -LONGEST : -MOST_DAYS_BACK)
  const following = plannedThrough === '' ? earliest : daysAfter(plannedThrough, 1)
  const made: ExpectationDay[] = []
  let day = plan.next(following < earliest ? earliest : following)
  while (day !== undefined) {
    const window = plan.window(day)
    const next = plan.next(daysAfter(day, 1))
    const nextOpens = next === undefined ? window.closesAt + 7 * DAY_MS : plan.window(next).opensAt
    // A new expectation says nothing of windows that have closed.
    if (plannedThrough !== '' || window.closesAt > now)
      made.push(plannedDay(expectation, window, Math.max(nextOpens, window.closesAt), now))
    if (window.opensAt > now) break
    day = next
  }
  return made
}

/** Files that came since a window opened, before its day was made: those of an expectation that is new or changed. */
async function countPast(tx: Tx, days: ExpectationDay[], now: number): Promise<Map<string, DayEvent[]>> {
  const told = new Map<string, DayEvent[]>()
  const open = days.filter(({ opensAt }) => opensAt <= now)
  const [first] = open
  if (!first) return told
  for (const event of await eventsOfChannelSince(tx, first.channelCode, first.opensAt)) {
    const file = fileOf(event)
    const day = file && isMeant(first, file) ? dayOfFile(open, file.at) : undefined
    if (!day) continue
    const change = afterFile(day, event.at, now)
    Object.assign(day, change.day)
    told.set(day.day, [...(told.get(day.day) ?? []), ...change.told])
  }
  return told
}
