// What is expected on the demo's channels: statements that come in time, and a price list that came late today.

import type { Calendar, Expectation } from '../contract/calendar.ts'
import { addDays as daysAfter } from '../domain/calendar/days.ts'
import { planOf } from '../domain/calendar/windows.ts'
import { calendarsOf } from '../domain/calendar/working-days.ts'
import { afterFile, afterTime, GRACE_MS, plannedDay } from '../domain/expectation-day.ts'
import type { Tx } from '../store/database/store.ts'
import { addDays } from '../store/expectations/expectation-days.ts'
import { setPlanned } from '../store/expectations/expectations.ts'

const MINUTE_MS = 60_000
/** The demo's nodes keep the time of the settings' default. */
const ZONE = 'UTC'

const LATE = 'price-list'

export function expectationsAt(now: Date): Expectation[] {
  return [
    {
      id: 'statements',
      channel: 'BANCO-ACME-EXTRACTO',
      direction: 'EMISION',
      files: 'extracto-*.txt',
      by: '24:00',
      warnBefore: '2h',
    },
    {
      id: LATE,
      channel: 'BANCO-NORTE-LISTAS',
      direction: 'RECEPCION',
      files: 'lista-*.txt',
      by: dueBefore(now),
    },
  ]
}

export const CALENDARS: Calendar[] = [{ id: 'madrid', holidays: { country: 'ES', region: 'MD' } }]

/** Forty minutes ago, or as early today as a window can end: it begins at midnight and is never empty. */
function dueBefore(now: Date): string {
  const midnight = Date.parse(now.toISOString().slice(0, 10))
  const due = Math.max(midnight + MINUTE_MS, now.getTime() - 40 * MINUTE_MS)
  return new Date(due).toISOString().slice(11, 16)
}

/** The list was missed and came a quarter of an hour later, as the node would have found it. */
export async function writeLate(tx: Tx, now: number): Promise<void> {
  const expectation = expectationsAt(new Date(now)).find(({ id }) => id === LATE)
  if (!expectation) return
  const plan = planOf(expectation, calendarsOf([]), ZONE)
  const today = plan.today(now)
  const window = plan.window(today)
  const came = window.closesAt + 15 * MINUTE_MS
  if (came > now) return
  const tomorrow = plan.window(daysAfter(today, 1))
  const missed = afterTime(
    plannedDay(expectation, window, tomorrow.opensAt, window.opensAt),
    window.closesAt + GRACE_MS,
  )
  await addDays(tx, [afterFile(missed.day, came, came).day])
  await setPlanned(tx, expectation.id, { plannedThrough: today, planAt: now })
}
