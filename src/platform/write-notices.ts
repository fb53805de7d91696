// Writes what a plan changes of calendars, subscriptions and expectations.

import type { Calendar, Expectation } from '../contract/calendar.ts'
import type { Tx } from '../store/database/store.ts'
import { putSubscription, removeSubscription } from '../store/events/subscriptions.ts'
import { putCalendar, removeCalendar } from '../store/expectations/calendars.ts'
import {
  listExpectations,
  planAnew,
  putExpectations,
  removeExpectations,
} from '../store/expectations/expectations.ts'
import type { ChangePlan, Changes } from './plan.ts'

type Notices = Pick<ChangePlan, 'calendars' | 'subscriptions' | 'expectations'>

/** After the channels: an expectation is of one. */
export async function writeNotices(
  tx: Tx,
  { calendars, subscriptions, expectations }: Notices,
): Promise<void> {
  for (const calendar of kept(calendars)) await putCalendar(tx, calendar)
  for (const { id } of calendars.removed) await removeCalendar(tx, id)
  for (const subscription of kept(subscriptions)) await putSubscription(tx, subscription)
  for (const { id } of subscriptions.removed) await removeSubscription(tx, id)
  await removeExpectations(
    tx,
    expectations.removed.map(({ id }) => id),
  )
  await putExpectations(tx, kept(expectations))
  await planChangedCalendars(tx, calendars)
}

/** Days that are not decided fall where the calendar says now. */
async function planChangedCalendars(tx: Tx, calendars: Changes<Calendar>): Promise<void> {
  const touched = new Set([...kept(calendars), ...calendars.removed].map(({ id }) => id))
  if (touched.size === 0) return
  const affected = (await listExpectations(tx)).filter(
    ({ calendar }: Expectation) => calendar !== undefined && touched.has(calendar),
  )
  await planAnew(
    tx,
    affected.map(({ id }) => id),
  )
}

function kept<T>(changes: Changes<T>): T[] {
  return [...changes.added, ...changes.changed.map(({ after }) => after)]
}
