// Days that something is planned for, moved where they are no working days. Two that come to lie on the same day are
// one; nothing is moved by more than a year.

import type { OnHoliday } from '../../contract/calendar.ts'
import { addDays } from './days.ts'
import type { Day } from './days.ts'
import type { WorkingDays } from './working-days.ts'

const FARTHEST = 366

export type DayPlan = { planned: (day: Day) => boolean; works: WorkingDays; onHoliday: OnHoliday }

/** Where a planned day comes to lie; undefined: nowhere. */
export function movedDay(day: Day, { works, onHoliday }: Omit<DayPlan, 'planned'>): Day | undefined {
  if (works(day)) return day
  if (onHoliday === 'skip') return undefined
  const step = onHoliday === 'next' ? 1 : -1
  for (let nth = 1; nth <= FARTHEST; nth++) {
    const moved = addDays(day, step * nth)
    if (works(moved)) return moved
  }
  return undefined
}

/** The planned days that come to lie on this one, itself among them if it is planned; none on a day that is closed. */
export function daysMovedTo(day: Day, { planned, works, onHoliday }: DayPlan): Day[] {
  if (!works(day)) return []
  const days = planned(day) ? [day] : []
  if (onHoliday === 'skip') return days
  const step = onHoliday === 'next' ? -1 : 1
  for (let nth = 1; nth <= FARTHEST; nth++) {
    const other = addDays(day, step * nth)
    if (works(other)) break
    if (planned(other)) days.push(other)
  }
  return days
}

/** The first day from `from` on that something comes to lie on. */
export function nextDayOf(from: Day, plan: DayPlan): Day | undefined {
  for (let nth = 0; nth <= 2 * FARTHEST; nth++) {
    const day = addDays(from, nth)
    if (daysMovedTo(day, plan).length > 0) return day
  }
  return undefined
}
