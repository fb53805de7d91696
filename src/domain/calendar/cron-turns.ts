// When a cron expression is due. With a calendar, days that are no working days are skipped or moved.

import { Cron } from 'croner'
import type { OnHoliday } from '../../contract/calendar.ts'
import { zoneOf } from '../time.ts'
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

/** Farther ahead nobody plans. */
const DAYS_AHEAD = 800

/** The first turn after that instant; undefined where none comes. Throws where the expression cannot be read. */
export function nextCronTurn({ cron, timezone, working }: CronPlan, after: number): number | undefined {
  const clock = new Cron(cron, { timezone })
  if (!working) return clock.nextRun(new Date(after))?.getTime()
  const zone = zoneOf(timezone)
  const today = dayAt(after, zone)
  for (let nth = 0; nth < DAYS_AHEAD; nth++) {
    const turn = turnsOn(clock, addDays(today, nth), { timezone, working }).find((at) => at > after)
    if (turn !== undefined) return turn
  }
  return undefined
}

/** All turns of a day, in order. */
export function cronTurnsOn(plan: CronPlan, day: Day): number[] {
  return turnsOn(new Cron(plan.cron, { timezone: plan.timezone }), day, plan)
}

function turnsOn(clock: Cron, day: Day, { timezone, working }: Omit<CronPlan, 'cron'>): number[] {
  const zone = zoneOf(timezone)
  const days = working ? daysMovedTo(day, { planned: () => true, ...working }) : [day]
  const turns = new Set<number>()
  for (const planned of days) {
    let at = beginsAt({ day: planned, ms: 0 }, zone) - 1
    const end = beginsAt({ day: addDays(planned, 1), ms: 0 }, zone)
    for (;;) {
      const turn = clock.nextRun(new Date(at))?.getTime()
      if (turn === undefined || turn >= end) break
      // Moved to another day it keeps the time that the wall clock shows.
      turns.add(planned === day ? turn : beginsAt({ ...localTimeAt(turn, zone), day }, zone))
      at = turn
    }
  }
  return [...turns].sort((a, b) => a - b)
}
