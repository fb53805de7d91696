// The platform at a glance, as far as the user may see it.

import type { ActiveTransfer, Overview, UnreachablePartner } from '../../contract/platform.ts'
import type { ExpectationDay } from '../../domain/expectation-day.ts'
import { showTime } from '../../domain/time.ts'
import type { Account } from '../../store/accounts.ts'
import type { View } from '../../store/channel-access.ts'
import { listSubscriptions } from '../../store/events/subscriptions.ts'
import { hasExpectations } from '../../store/expectations/expectations.ts'
import { HOUR_MS } from '../../store/transfers/transfer-stats.ts'
import { describeActive, describeFailures, partnersDown, sumHour } from '../../store/overview.ts'
import type { ActiveRow, HourSums } from '../../store/overview.ts'
import { FAILURES_TO_BE_DOWN } from '../../store/partner-health.ts'
import type { Health } from '../../store/partner-health.ts'
import type { Board } from './channel-board.ts'
import type { Context } from '../context.ts'
import { countStates, dayToWire, visibleDays } from '../notifications/expectations.ts'
import { channelOf, DAY_HOURS, failuresToWire, firstHour, visibleFailures } from './failures.ts'
import { pausesToWire, waitingOf } from './waiting.ts'

const ACTIVE_SHOWN = 50
const FAILURES_SHOWN = 10
const EXPECTED_SHOWN = 50
const PARTNERS_SHOWN = 100

export async function overview(
  context: Context,
  user: Account,
  board: Board,
  hoursOf: Hours,
): Promise<Overview> {
  const { db } = context.store
  const channels = { total: board.view.codes.length, byStatus: board.counts() }
  const partners = user.auths.contactChannels ? await unreachable(context, board) : {}
  const subscriptionsOff = user.auths.administration ? await switchedOff(context) : []
  const pauses = await pausesToWire(context, user, board)
  const troubles = {
    ...partners,
    ...(pauses.length > 0 && { pauses }),
    ...(subscriptionsOff.length > 0 && { subscriptionsOff }),
  }
  if (user.role === 'ROLE_CONTROLATOR') return { channels, ...troubles }
  const moving = board.active.filter((one) => one.state === 'IN_PROGRESS')
  const waiting = board.active.filter((one) => one.state === 'PENDING')
  const shown = await describeActive(db, [...moving, ...waiting].slice(0, ACTIVE_SHOWN))
  const held = await waitingOf(context, board, shown)
  const failed = await visibleFailures(context, board, { hours: DAY_HOURS })
  const failures = await describeFailures(db, failed.slice(0, FAILURES_SHOWN))
  return {
    channels,
    active: {
      pending: waiting.length,
      inProgress: moving.length,
      transfers: shown.map((row) => activeToWire(context, board, row, held.get(row.id))),
    },
    hours: await hoursOf(context, board),
    failures: { total: failed.length, transfers: await failuresToWire(context, board, failures) },
    ...troubles,
    ...(await expectedToday(context, user, board)),
  }
}

/** What people must look at comes first. */
const FIRST: readonly ExpectationDay['state'][] = ['missed', 'warned', 'excess', 'late', 'waiting', 'met']

async function expectedToday(
  context: Context,
  user: Account,
  board: Board,
): Promise<Pick<Overview, 'expectations'>> {
  const days = await visibleDays(context, user)
  if (days.length === 0 && !(await hasExpectations(context.store.db))) return {}
  const shown = days
    .toSorted((a, b) => FIRST.indexOf(a.state) - FIRST.indexOf(b.state) || a.closesAt - b.closesAt)
    .slice(0, EXPECTED_SHOWN)
  const nameOf = (code: string) => board.catalogue.channels.get(code)?.config.name
  return {
    expectations: {
      byState: countStates(days),
      days: shown.map((day) => dayToWire(context, day, nameOf(day.channelCode))),
    },
  }
}

async function switchedOff({ store, zone }: Context): Promise<NonNullable<Overview['subscriptionsOff']>> {
  const off = (await listSubscriptions(store.db)).filter(({ state }) => state === 'OFF')
  return off.map(({ id, offAt, offReason }) => ({
    id,
    ...(offAt !== null && { offAt: showTime(offAt, zone) }),
    ...(offReason !== null && { reason: offReason }),
  }))
}

export type Hours = (context: Context, board: Board) => Promise<NonNullable<Overview['hours']>>

const LATE_MS = 5 * 60_000

/** An hour that is over does not change, except by a late commit. Once that cannot come any more, its sums are kept. */
export function makeHours(): Hours {
  const kept = new WeakMap<View, Map<number, HourSums>>()
  return async (context, board) => {
    const now = context.now()
    const current = Math.floor(now / HOUR_MS)
    let known = kept.get(board.view)
    if (!known) kept.set(board.view, (known = new Map()))
    const first = firstHour(now)
    for (const hour of known.keys()) if (hour < first) known.delete(hour)
    const hours: NonNullable<Overview['hours']> = []
    for (let hour = first; hour <= current; hour++) {
      const sums = known.get(hour) ?? (await sumHour(context.store.db, hour, board.reaches))
      if (now > (hour + 1) * HOUR_MS + LATE_MS) known.set(hour, sums)
      hours.push({ from: showTime(hour * HOUR_MS, context.zone), ...sums })
    }
    return hours
  }
}

async function unreachable(
  context: Context,
  board: Board,
): Promise<Pick<Overview, 'partners' | 'partnersTotal'>> {
  const down = await partnersDown(context.store.db, FAILURES_TO_BE_DOWN)
  const toWire = ({ contactId, failures, openUntil, error }: Health): UnreachablePartner => {
    const name = board.catalogue.contactNames.get(contactId)
    return {
      contactId,
      ...(name !== undefined && { name }),
      failures,
      ...(openUntil > 0 && { nextCallAt: showTime(openUntil, context.zone) }),
      ...(error !== null && { error }),
      channels: board.view.codesByContact.get(contactId)?.length ?? 0,
    }
  }
  return { partners: down.slice(0, PARTNERS_SHOWN).map(toWire), partnersTotal: down.length }
}

function activeToWire(
  context: Context,
  board: Board,
  row: ActiveRow,
  waiting: ActiveTransfer['waiting'],
): ActiveTransfer {
  return {
    transferId: row.id,
    ...channelOf(board, row.channelCode),
    direction: row.direction,
    status: row.state,
    requestedAt: showTime(row.requestedAt, context.zone),
    ...(row.startedAt !== null && { startedAt: showTime(row.startedAt, context.zone) }),
    attempts: row.attempts,
    ...(waiting && { waiting }),
    bytes: row.bytes,
    totalBytes: row.totalBytes,
    files: row.files,
    totalFiles: row.totalFiles,
  }
}
