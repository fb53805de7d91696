// Which days are working days. There are three built-in calendars. A platform can describe others: a country's
// holidays, with days added and removed. Loading the data of holidays takes a tenth of a second and some megabytes, so
// it is loaded when a calendar first needs it.

import type HolidaysData from 'date-holidays'
import { createRequire } from 'node:module'
import type { BuiltInCalendar, Calendar } from '../../contract/calendar.ts'
import { BUILT_IN_CALENDARS } from '../../contract/calendar.ts'
import type { Day } from './days.ts'
import { addDays, easterOf, weekdayOf, yearOf } from './days.ts'

export type WorkingDays = (day: Day) => boolean

const SATURDAY = 6

const isWeekday: WorkingDays = (day) => weekdayOf(day) < SATURDAY

/** The days on which the Eurosystem's TARGET services are closed, as they have been since 2002. */
function isTargetHoliday(day: Day): boolean {
  const date = day.slice(5)
  if (['01-01', '05-01', '12-25', '12-26'].includes(date)) return true
  const easter = easterOf(yearOf(day))
  return day === addDays(easter, -2) || day === addDays(easter, 1)
}

const BUILT_IN: Record<BuiltInCalendar, WorkingDays> = {
  always: () => true,
  weekdays: isWeekday,
  target: (day) => isWeekday(day) && !isTargetHoliday(day),
}

export function isBuiltIn(id: string): id is BuiltInCalendar {
  return (BUILT_IN_CALENDARS as readonly string[]).includes(id)
}

export function workingDaysOf({ holidays, closed = [], open = [] }: Omit<Calendar, 'id'>): WorkingDays {
  const [closedDays, openDays] = [new Set(closed), new Set(open)]
  const usual = holidays ? countryDays(holidays) : isWeekday
  return (day) => openDays.has(day) || (!closedDays.has(day) && usual(day))
}

type Country = NonNullable<Calendar['holidays']>

// Of the Persian calendar the data know no more than the next twelve centuries, and throw.
const LAST_YEAR = 3000
const NONE: ReadonlySet<Day> = new Set()

function countryDays({ country, region }: Country): WorkingDays {
  const weekend = new Set(weekendOf(country))
  const data = new (holidaysData())(region === undefined ? country : `${country}.${region}`)
  const years = new Map<number, ReadonlySet<Day>>()
  const holidaysOf = (year: number) => {
    if (year > LAST_YEAR) return NONE
    let days = years.get(year)
    if (!days) years.set(year, (days = wholeDays(data, year)))
    return days
  }
  return (day) => !weekend.has(weekdayOf(day)) && !holidaysOf(yearOf(day)).has(day)
}

/** Half days (from 14:00 on, say) are working days; a holiday of several days is closed on each. */
function wholeDays(data: HolidaysData, year: number): Set<Day> {
  const days = new Set<Day>()
  for (const { date, type, start, end } of data.getHolidays(year)) {
    if ((type !== 'public' && type !== 'bank') || date.slice(11) !== '00:00:00') continue
    const count = Math.max(1, Math.round((end.getTime() - start.getTime()) / 86_400_000))
    for (let nth = 0; nth < count; nth++) days.add(addDays(date.slice(0, 10), nth))
  }
  return days
}

/** As the Unicode locale data have it: Saturday and Sunday in most countries, Friday and Saturday in some. */
function weekendOf(country: string): readonly number[] {
  const locale = new Intl.Locale(`und-${country}`) as Intl.Locale & {
    getWeekInfo?: () => { weekend: number[] }
  }
  return locale.getWeekInfo?.().weekend ?? [SATURDAY, SATURDAY + 1]
}

/** What is wrong with a country or a part of it; undefined: nothing. */
export function unknownPlace({ country, region }: Country): string | undefined {
  const data = new (holidaysData())()
  if (data.getCountries()[country] === undefined) return `there are no holidays known for country ${country}`
  const [state = '', part] = region?.split('.') ?? []
  if (region === undefined) return undefined
  const states = (data.getStates(country) as Record<string, string> | undefined) ?? {}
  const parts =
    part === undefined ? {} : ((data.getRegions(country, state) as Record<string, string> | undefined) ?? {})
  if (states[state] !== undefined && (part === undefined || parts[part] !== undefined)) return undefined
  return `country ${country} has no region ${region}; it has ${Object.keys(states).join(', ') || 'none'}`
}

let loaded: typeof HolidaysData | undefined

function holidaysData(): typeof HolidaysData {
  loaded ??= createRequire(import.meta.url)('date-holidays') as typeof HolidaysData
  return loaded
}

export type Calendars = (id: string) => WorkingDays | undefined

/** The built-in ones and these. */
export function calendarsOf(definitions: readonly Calendar[]): Calendars {
  const known = new Map(definitions.map((one) => [one.id, one]))
  const made = new Map<string, WorkingDays>()
  return (id) => {
    if (isBuiltIn(id)) return BUILT_IN[id]
    const definition = known.get(id)
    if (!definition) return undefined
    let days = made.get(id)
    if (!days) made.set(id, (days = workingDaysOf(definition)))
    return days
  }
}
