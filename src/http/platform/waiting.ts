// What holds transfers that wait, and automation that waits after failures: as people are shown it.

import type { AutomaticPause } from '../../contract/administration/channels.ts'
import type { Waiting } from '../../contract/transfer-search.ts'
import type { Overview } from '../../contract/platform.ts'
import { showTime } from '../../domain/time.ts'
import { waitingFor } from '../../domain/waiting.ts'
import type { Account } from '../../store/accounts.ts'
import { findPause, pausedRuns } from '../../store/automation-runs.ts'
import type { PausedRun } from '../../store/automation-runs.ts'
import { hoursOfChannel } from '../../store/expectations/calendars.ts'
import { contactsAround, describeFailures, waitsOf } from '../../store/overview.ts'
import type { UnderWay } from '../../store/overview.ts'
import { FAILURES_TO_BE_DOWN } from '../../store/partner-health.ts'
import { lastEnded } from '../../store/transfers/failures.ts'
import type { Context } from '../context.ts'
import type { Board } from './channel-board.ts'

const PAUSES_SHOWN = 20

/** By transfer; those that move are not among them. */
export async function waitingOf(
  context: Context,
  { catalogue }: Board,
  some: readonly UnderWay[],
): Promise<Map<string, Waiting>> {
  const { db } = context.store
  const found = new Map<string, Waiting>()
  const active = some.filter(({ state }) => state === 'PENDING' || state === 'IN_PROGRESS')
  if (active.length === 0) return found
  const waits = await waitsOf(
    db,
    active.map(({ id }) => id),
  )
  const partnerOf = (code: string) => catalogue.channels.get(code)?.contactId ?? ''
  const partners = new Set(active.map(({ channelCode }) => partnerOf(channelCode)))
  const around = await contactsAround(db, [...partners], FAILURES_TO_BE_DOWN)
  for (const one of active) {
    const [channel, row] = [catalogue.channels.get(one.channelCode), waits.get(one.id)]
    if (!channel || !row) continue
    const { protocol, downUntil } = around.get(channel.contactId) ?? { protocol: 'oftp2', downUntil: 0 }
    const surroundings = { config: channel.config, hours: hoursOfChannel(channel), protocol, downUntil }
    const held = waitingFor({ ...one, ...row }, surroundings, context.now(), context.zone)
    if (held)
      found.set(one.id, {
        reason: held.reason,
        ...(held.until !== undefined && { until: showTime(held.until, context.zone) }),
      })
  }
  return found
}

/** The channel's automation waits after failures; why is for those who may read transfers. */
export async function automaticPauseOf(
  context: Context,
  user: Account,
  code: string,
): Promise<AutomaticPause | undefined> {
  const pause = await findPause(context.store.db, code)
  if (!pause || pause.waitUntil <= context.now()) return undefined
  return pauseToWire(context, user, { code, ...pause })
}

async function pauseToWire(
  { store, zone }: Context,
  user: Account,
  { code, failures, waitUntil }: PausedRun,
): Promise<AutomaticPause> {
  const told = { until: showTime(waitUntil, zone), failures }
  if (user.role === 'ROLE_CONTROLATOR') return told
  const last = await lastEnded(store.db, code, 'EMISION')
  const [failed] = last ? await describeFailures(store.db, [last.id]) : []
  if (!failed) return told
  return { ...told, transferId: failed.id, ...(failed.error !== null && { error: failed.error }) }
}

/** When the pauses of channels that wait now end, by channel. */
export async function pauseEnds({ store, now, zone }: Context): Promise<Map<string, string>> {
  const paused = await pausedRuns(store.db, now())
  return new Map(paused.map(({ code, waitUntil }) => [code, showTime(waitUntil, zone)]))
}

export async function pausesToWire(
  context: Context,
  user: Account,
  board: Board,
): Promise<NonNullable<Overview['pauses']>> {
  const paused = (await pausedRuns(context.store.db, context.now())).filter(({ code }) => board.reaches(code))
  return Promise.all(
    paused.slice(0, PAUSES_SHOWN).map(async (one) => {
      const name = board.catalogue.channels.get(one.code)?.config.name
      return {
        channelCode: one.code,
        ...(name !== undefined && { channelName: name }),
        ...(await pauseToWire(context, user, one)),
      }
    }),
  )
}
