// The days and times of an expectation: on which days files are due, from when to when, and when to warn.

import { WEEKDAYS } from '../../contract/calendar.ts'
import type { Expectation } from '../../contract/calendar.ts'
import { zoneOf } from '../time.ts'
import { addDays, dayOfMonth, isLastOfMonth, weekdayOf } from './days.ts'
import type { Day } from './days.ts'
import { beginsAt, dayAt, endsAt, localTime } from './local-time.ts'
import { nextDayOf } from './moved-days.ts'
import type { DayPlan } from './moved-days.ts'
import type { Calendars } from './working-days.ts'

export type Window = { day: Day; opensAt: number; warnsAt: number | null; closesAt: number }

export type ExpectationPlan = {
  window(day: Day): Window
  /** The first day from this one on that has a window; undefined where none comes within two years. */
  next(from: Day): Day | undefined
  /** Today, where the expectation lives. */
  today(at: number): Day
}

export function planOf(expectation: Expectation, calendars: Calendars, nodeZone: string): ExpectationPlan {
  const zone = zoneOf(expectation.timezone ?? nodeZone)
  const { from = '00:00', by, warnBefore } = expectation
  const days: DayPlan = {
    planned: plannedDays(expectation.days),
    works: calendars(expectation.calendar ?? 'always') ?? (() => true),
    onHoliday: expectation.onHoliday ?? 'skip',
  }
  return {
    window: (day) => {
      const opensAt = beginsAt(localTime(day, from), zone)
      const closesAt = Math.max(opensAt, endsAt(localTime(day, by), zone))
      const warnsAt = warnBefore === undefined ? null : Math.max(opensAt, closesAt - spanMs(warnBefore))
      return { day, opensAt, warnsAt, closesAt }
    },
    next: (day) => nextDayOf(day, days),
    today: (at) => dayAt(at, zone),
  }
}

function plannedDays(days: Expectation['days']): (day: Day) => boolean {
  if (days === undefined) return () => true
  const [weekdays, dates] = [new Set<number>(), new Set<number>()]
  for (const day of days.map(String)) {
    const weekday = (WEEKDAYS as readonly string[]).indexOf(day)
    if (weekday >= 0) weekdays.add(weekday + 1)
    else if (day !== 'last') dates.add(Number(day))
  }
  const last = days.includes('last')
  return (day) => weekdays.has(weekdayOf(day)) || dates.has(dayOfMonth(day)) || (last && isLastOfMonth(day))
}

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Of `30s`, `5m`, `2h` or `1d`. */
export function spanMs(text: string): number {
  const [, count = '0', unit = 's'] = /^(\d+)([smhd])$/.exec(text) ?? []
  return Number(count) * (UNITS[unit] ?? 1000)
}

/** All windows of a year, for a person to look over. */
export function windowsOfYear(plan: ExpectationPlan, year: number): Window[] {
  const windows: Window[] = []
  let day = plan.next(`${year}-01-01`)
  while (day !== undefined && day <= `${year}-12-31`) {
    windows.push(plan.window(day))
    day = plan.next(addDays(day, 1))
  }
  return windows
}
