// From local time to the instant. When clocks change, an hour of local time is missing or comes twice. A span between
// two local times begins at the first instant whose local time is its beginning or later. It ends after the last
// instant whose local time is before its end. So a span never loses time when clocks change, and is empty if it does
// not exist.

import { addDays, dayNumber, dayOf } from './days.ts'
import type { Day } from './days.ts'
import type { Zone } from '../time.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
/** Farther from UTC than any place on earth. */
const FAR_MS = 26 * 3_600_000

/** `ms` after the midnight that the wall clock shows. */
export type LocalTime = { day: Day; ms: number }

/** Of `HH:mm`, or `HH:mm+1` for the next day. */
export function localTime(day: Day, clock: string): LocalTime {
  const [, hour = '0', minute = '0', days = '0'] = /^(\d\d):(\d\d)(?:\+(\d))?$/.exec(clock) ?? []
  return { day: addDays(day, Number(days)), ms: (Number(hour) * 60 + Number(minute)) * MINUTE_MS }
}

/** The first instant at which the wall clock shows this or more. */
export function beginsAt(time: LocalTime, zone: Zone): number {
  const { local, before, after, change } = around(time, zone)
  const early = local - before
  if (change === undefined || early < change) return early
  return Math.max(change, local - after)
}

/** The instant from which on the wall clock shows this or more, for good. */
export function endsAt(time: LocalTime, zone: Zone): number {
  const { local, before, after, change } = around(time, zone)
  const late = local - after
  if (change === undefined || late > change) return late
  return Math.min(change, local - before)
}

export function dayAt(at: number, zone: Zone): Day {
  return localTimeAt(at, zone).day
}

/** What the wall clock shows. */
export function localTimeAt(at: number, zone: Zone): LocalTime {
  const local = at + zone.offsetMs(at)
  const number = Math.floor(local / DAY_MS)
  return { day: dayOf(number), ms: local - number * DAY_MS }
}

/** The offsets before and after a change of clocks near that time, and the instant of the change if there is one. */
function around({ day, ms }: LocalTime, zone: Zone) {
  const local = dayNumber(day) * DAY_MS + ms
  let [low, high] = [local - FAR_MS, local + FAR_MS]
  const [before, after] = [zone.offsetMs(low), zone.offsetMs(high)]
  if (before === after) return { local, before, after, change: undefined }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (zone.offsetMs(middle) === before) low = middle
    else high = middle
  }
  return { local, before, after, change: high }
}
