// When a cron expression is due. With a calendar, days that are no working days are skipped or moved. To ask
// croner for one turn takes a tenth of a millisecond, and to learn that none is left takes ten. So it is asked once per
// day on which the expression is due: on a day without a change of clocks the times are those of the expression.

import { Cron, CronPattern } from 'croner'
import type { OnHoliday } from '../../contract/calendar.ts'
import { DAY_MS, zoneOf } from '../time.ts'
import type { Zone } from '../time.ts'
import { addDays } from './days.ts'
import type { Day } from './days.ts'
import { beginsAt, dayAt, localTimeAt } from './local-time.ts'
import { daysMovedTo } from './moved-days.ts'
import type { WorkingDays } from './working-days.ts'

export type CronPlan = {
  cron: string
  timezone: string
  working?: { works: WorkingDays; onHoliday: OnHoliday } | undefined
}

/** The days to look at, in order; turns after that instant alone, and of each day that many at the most. */
type Span = { from: Day; to: Day; after?: number | undefined; most: number }

/** Farther ahead nobody plans. */
const DAYS_AHEAD = 800

/** The first turn after that instant; undefined where none comes. Throws where the expression cannot be read. */
export function nextCronTurn(plan: CronPlan, after: number): number | undefined {
  const { cron, timezone, working } = plan
  if (!working) return new Cron(cron, { timezone }).nextRun(new Date(after))?.getTime()
  const from = dayAt(after, zoneOf(timezone))
  for (const [turn] of cronTurnsByDay(plan, { from, to: addDays(from, DAYS_AHEAD), after, most: 1 }))
    if (turn !== undefined) return turn
  return undefined
}

/** The turns of each day, in order; ends where no turn is left. Throws where the expression cannot be read. */
export function* cronTurnsByDay(plan: CronPlan, { from, to, after, most }: Span): Generator<number[]> {
  const zone = zoneOf(plan.timezone)
  const { working } = plan
  const walk = walkOf(plan, zone)
  const seen = after === undefined ? undefined : localTimeAt(after, zone)
  for (let day = from; day <= to && !walk.isOver(); day = addDays(day, 1)) {
    const days = working ? daysMovedTo(day, { planned: () => true, ...working }).toSorted() : [day]
    const turns = new Set<number>()
    for (const planned of days) {
      let left = most
      for (const { at, ms } of walk.turnsOn(planned, seen?.day === day ? seen.ms : 0)) {
        // Moved to another day it keeps the time that the wall clock shows.
        const turn = planned === day ? at : beginsAt({ day, ms }, zone)
        if ((after !== undefined && turn <= after) || turns.has(turn)) continue
        turns.add(turn)
        if (--left === 0) break
      }
    }
    yield [...turns].sort((a, b) => a - b).slice(0, most)
  }
}

type Turn = { at: number; ms: number }

/** Goes forwards: each day asked for is the one before or a later one. */
function walkOf({ cron, timezone }: CronPlan, zone: Zone) {
  const clock = new Cron(cron, { timezone })
  const pattern = new CronPattern(cron)
  let next: number | undefined = Number.NEGATIVE_INFINITY
  const nextFrom = (at: number): number => {
    if (next !== undefined && next < at) next = clock.nextRun(new Date(at - 1))?.getTime()
    return next ?? Number.POSITIVE_INFINITY
  }
  return {
    isOver: () => next === undefined,
    /** Those at which the wall clock shows that time or more. */
    *turnsOn(day: Day, fromMs: number): Generator<Turn> {
      const begin = beginsAt({ day, ms: 0 }, zone)
      const end = beginsAt({ day: addDays(day, 1), ms: 0 }, zone)
      if (nextFrom(begin) >= end) return
      if (end - begin === DAY_MS) {
        for (const ms of timesOfDay(pattern, fromMs)) yield { at: begin + ms, ms }
        return
      }
      // On a day on which clocks change croner knows which times are left out, and which come twice.
      let at = nextFrom(beginsAt({ day, ms: fromMs }, zone))
      for (; at < end; at = nextFrom(at + 1)) yield { at, ms: localTimeAt(at, zone).ms }
    },
  }
}

const MINUTE_MS = 60_000

/** Milliseconds after midnight at which an expression is due on its days, from that time on. */
function* timesOfDay({ hour, minute, second }: CronPattern, fromMs: number): Generator<number> {
  const seconds = numbersOn(second)
  for (const h of numbersOn(hour))
    for (const m of numbersOn(minute)) {
      const begin = (h * 60 + m) * MINUTE_MS
      if (begin + MINUTE_MS <= fromMs) continue
      for (const s of seconds) if (begin + s * 1000 >= fromMs) yield begin + s * 1000
    }
}

function numbersOn(field: readonly number[]): number[] {
  return field.flatMap((on, number) => (on === 1 ? [number] : []))
}
