// Planned days, moved if they are no working days. Two that are moved to the same day become one. No day is moved by
// more than a year.

import type { OnHoliday } from '../../contract/calendar.ts'
import { addDays } from './days.ts'
import type { Day } from './days.ts'
import type { WorkingDays } from './working-days.ts'

const FARTHEST = 366

export type DayPlan = { planned: (day: Day) => boolean; works: WorkingDays; onHoliday: OnHoliday }

/** The planned days that are moved to this one, and itself if it is planned. None if this is no working day. */
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

/** The first day from `from` on that has a planned day, moved or not. */
export function nextDayOf(from: Day, plan: DayPlan): Day | undefined {
  for (let nth = 0; nth <= 2 * FARTHEST; nth++) {
    const day = addDays(from, nth)
    if (daysMovedTo(day, plan).length > 0) return day
  }
  return undefined
}
