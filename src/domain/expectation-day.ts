// One day of an expectation, and what becomes of it. Decided by files that come and by the clock, each decision once:
//
//   waiting   the window has not opened, or is open and not all has come
//   warned    the end of the window is near, and still not all has come
//   met       all came within the window
//   excess    and more than there may be
//   missed    the window has closed and not all came: the alarm
//   late      what was missed came after all, before the next day's window

import type { Expectation } from '../contract/calendar.ts'
import type { EventType } from '../contract/event-types.ts'
import type { EXPECTATION_STATES } from '../contract/notifications.ts'
import type { TransferDirection } from '../contract/transfer.ts'
import type { Window } from './calendar/windows.ts'

export type ExpectationState = (typeof EXPECTATION_STATES)[number]

export type ExpectationDay = {
  expectationId: string
  day: string
  channelCode: string
  direction: TransferDirection
  files: string | null
  atLeast: number
  atMost: number | null
  opensAt: number
  warnsAt: number | null
  closesAt: number
  /** What comes from here on belongs to the next day. */
  listensUntil: number
  state: ExpectationState
  count: number
  changedAt: number
  nextAt: number | null
  acknowledgedBy: string | null
  acknowledgedAt: number | null
  comment: string | null
}

/** A file's transaction may be on its way when its window closes. */
export const GRACE_MS = 5000

export type DayEvent = Extract<EventType, `expectation.${string}`>
export type DayChange = { day: ExpectationDay; told: DayEvent[] }

const OPEN: ReadonlySet<ExpectationState> = new Set(['waiting', 'warned'])

export function isOpen({ state }: Pick<ExpectationDay, 'state'>): boolean {
  return OPEN.has(state)
}

/** A day as it is before anything has happened. */
export function plannedDay(
  { id, channel, direction, files, atLeast = 1, atMost }: Expectation,
  window: Window,
  listensUntil: number,
  now: number,
): ExpectationDay {
  const day: ExpectationDay = {
    expectationId: id,
    channelCode: channel,
    direction,
    files: files ?? null,
    atLeast,
    atMost: atMost ?? null,
    ...window,
    listensUntil,
    state: 'waiting',
    count: 0,
    changedAt: now,
    nextAt: null,
    acknowledgedBy: null,
    acknowledgedAt: null,
    comment: null,
  }
  return { ...day, nextAt: nextLook(day) }
}

/** When the clock has to look at it next; null: never again. */
function nextLook(day: ExpectationDay): number | null {
  if (!isOpen(day)) return null
  if (day.state === 'waiting' && day.warnsAt !== null && day.warnsAt < day.closesAt) return day.warnsAt
  return day.closesAt + GRACE_MS
}

/** A day that was decided by a clock that was ahead, before its window has closed. */
export function reopened(day: ExpectationDay, now: number): ExpectationDay {
  const open: ExpectationDay = { ...day, state: 'waiting', changedAt: now }
  return { ...open, nextAt: nextLook(open) }
}

/** What the clock makes of it. A warning whose day has ended meanwhile is not given any more: the day is missed. */
export function afterTime(day: ExpectationDay, now: number): DayChange {
  if (!isOpen(day)) return changed(day, {}, now)
  if (now >= day.closesAt + GRACE_MS) return closed(day, now)
  if (day.state === 'waiting' && day.warnsAt !== null && now >= day.warnsAt)
    return changed(day, { state: 'warned' }, now, 'expectation.warning')
  return changed(day, {}, now)
}

function closed(day: ExpectationDay, now: number): DayChange {
  return day.count >= day.atLeast
    ? changed(day, { state: 'met' }, now, 'expectation.met')
    : changed(day, { state: 'missed' }, now, 'expectation.missed')
}

/** What a file makes of it that came at `at`, and belongs to this day. */
export function afterFile(before: ExpectationDay, at: number, now: number): DayChange {
  // It came too late, only nobody has looked since.
  const { day, told } =
    isOpen(before) && at >= before.closesAt ? closed(before, now) : changed(before, {}, now)
  const count = day.count + 1
  const event = eventOf(day, count)
  const state = event === undefined ? day.state : STATES[event]
  const next = changed(day, { count, state }, now, ...(event === undefined ? [] : [event]))
  return { day: next.day, told: [...told, ...next.told] }
}

const STATES = {
  'expectation.excess': 'excess',
  'expectation.met': 'met',
  'expectation.late': 'late',
} as const

function eventOf(day: ExpectationDay, count: number): keyof typeof STATES | undefined {
  const tooMany = day.atMost !== null && count > day.atMost
  if (tooMany && (isOpen(day) || day.state === 'met')) return 'expectation.excess'
  if (count < day.atLeast) return undefined
  // Where nothing need come, the end of the window decides.
  if (isOpen(day) && day.atLeast > 0) return 'expectation.met'
  return day.state === 'missed' ? 'expectation.late' : undefined
}

function changed(
  day: ExpectationDay,
  changes: Partial<ExpectationDay>,
  now: number,
  ...told: DayEvent[]
): DayChange {
  const next = { ...day, ...changes, ...(told.length > 0 && { changedAt: now }) }
  return { day: { ...next, nextAt: nextLook(next) }, told }
}

/**
 * Which day of one expectation a file belongs to that came at `at`: of the days whose window is open the first that
 * still lacks files, else the last; where no window is open, the one that closed last, until the next one opens.
 */
export function dayOfFile(days: readonly ExpectationDay[], at: number): ExpectationDay | undefined {
  const begun = days
    .filter(({ opensAt, listensUntil }) => opensAt <= at && at < listensUntil)
    .toSorted((a, b) => a.opensAt - b.opensAt)
  const open = begun.filter(({ closesAt }) => at < closesAt)
  if (open.length > 0) return open.find(({ count, atLeast }) => count < atLeast) ?? open.at(-1)
  return begun.findLast((day) => isOpen(day) || day.state === 'missed')
}
