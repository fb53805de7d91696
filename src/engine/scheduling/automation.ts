// Channels that work by themselves. `watch` sends what appears; `every` and `cron` send at their times. Where this node
// calls the partner, it fetches the partner's files at the same moments. Several nodes may look at the same channel, so
// one of them takes each turn in the database.

import { CLOCKS_APART_MS } from '../../domain/set-back.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import {
  automationRuns,
  endFetchPause,
  findFetchPause,
  findPause,
  giveAutomationRunBack,
  insertAutomationRun,
  noteFetchFailed,
  noteTried,
  takeAutomationRun,
} from '../../store/automation-runs.ts'
import type { AutomaticPause, AutomationRun } from '../../store/automation-runs.ts'
import { addHistory, automatedChannels, channelsOfContact, findChannel } from '../../store/channels.ts'
import { closedBecause, directoriesFor, goes } from '../../domain/channel.ts'
import { automaticPauseMs } from '../../domain/retry-schedule.ts'
import { isOpenAt } from '../../domain/time.ts'
import { nextCronTurn } from '../../domain/calendar/cron-turns.ts'
import { spanMs } from '../../domain/calendar/windows.ts'
import type { Calendars } from '../../domain/calendar/working-days.ts'
import { hoursOfChannel, readCalendars } from '../../store/expectations/calendars.ts'
import { NodeError, toNodeError } from '../../errors.ts'
import { contactsOwed, contactsOwing } from '../../store/transfers/receipts.ts'
import { livingOwners } from '../../store/transfers/signs-of-life.ts'
import { activeTransfers } from '../../store/transfers/transfers.ts'
import { filesToSend, requestSend, triedWith } from '../../transfers/request.ts'
import type { Asking } from '../../transfers/request.ts'
import { callNotBefore } from '../sessions/circuit-breaker.ts'
import type { OwedReceipts } from '../sessions/owed-receipts.ts'
import type { Lent } from '../sessions/session-pool.ts'
import { channelsOwed } from '../sessions/receipts.ts'
import { isSpooled } from '../sending/outbox-spool.ts'
import { makeTransferPlan, snapshotOf } from '../transfer-plan.ts'
import { ReceiptCalls } from './receipt-calls.ts'
import { protocolFor } from './run-transfer.ts'
import type { Runner } from './run-transfer.ts'
import { Turns } from './turns.ts'
import type { EngineContext } from '../engine-context.ts'

const LOOK_MS = 1000
/** How often `watch` looks, and fetches. */
const WATCH_MS = 2000
/** While a session is open, receipts go by themselves. After this time the node calls the partner to deliver them. */
const RECEIPT_REST_MS = 5000

export type AutomationClock = { stop(): Promise<void> }

export function startAutomation(runner: Runner, owed: OwedReceipts, wake: () => void): AutomationClock {
  const { context } = runner
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> = Promise.resolve()
  const calls = new ReceiptCalls()
  const turns = new Turns((turn, thrown) => {
    if (!context.stopping.aborted) context.log.warn({ err: thrown, turn }, 'a turn of the automation failed')
  })
  const look = async () => {
    const runs = await automationRuns(context.store.db)
    const living = await livingOwners(context.store.db, context.now())
    const calendars = await readCalendars(context.store.db)
    for (const channel of await automatedChannels(context.store.db)) {
      const run = runs.get(channel.code)
      if (!isDue(context, channel, run, { living, calendars })) continue
      turns.add(channel.contactId, `channel ${channel.code}`, () => takeTurn(runner, channel, run, wake))
    }
    for (const contactId of await contactsOwed(context.store.db, context.now() - RECEIPT_REST_MS))
      turns.add(contactId, `receipts ${contactId}`, () => deliverOwed(runner, owed, contactId))
    const owing = await contactsOwing(context.store.db)
    for (const contactId of calls.due([...owing.keys()], context.now()))
      turns.add(contactId, `receipts ${contactId}`, () =>
        callForReceipts(runner, contactId, owing.get(contactId) ?? []),
      )
  }
  const again = () => {
    looking = look()
      .catch((thrown: unknown) =>
        context.log.warn({ err: thrown }, 'automation could not look at its channels'),
      )
      .finally(() => {
        if (!stopped) timer = setTimeout(again, LOOK_MS)
      })
  }
  again()
  return {
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await Promise.all([looking, turns.stop()])
    },
  }
}

function isDue(
  context: EngineContext,
  channel: ChannelRecord,
  run: AutomationRun | undefined,
  { living, calendars }: { living: ReadonlySet<string>; calendars: Calendars },
): boolean {
  if (!run) return true
  const now = context.now()
  // A turn may still be marked as ours because the database did not answer when it was given back. `busy` knows better.
  const others = run.held_by !== null && run.held_by !== context.owner && living.has(run.held_by)
  const held = (run.held_until > now && !isOfClockAhead(run.held_until, context)) || others
  if (held) return false
  return isOfClockAhead(run.ran_at, context) || nextTurn(channel, run.ran_at, context, calendars) <= now
}

/** What lies further ahead than any turn goes is of a clock that was set back since. */
function isOfClockAhead(at: number, { now, leaseMs }: EngineContext): boolean {
  return at > now() + leaseMs + CLOCKS_APART_MS
}

async function takeTurn(
  runner: Runner,
  seen: ChannelRecord,
  run: AutomationRun | undefined,
  wake: () => void,
): Promise<void> {
  const { context } = runner
  const channel = await findChannel(context.store.db, seen.code)
  // It may have waited long for others of its partner's. What has changed is looked at anew.
  if (channel?.id !== seen.id || channel.revision !== seen.revision) return
  const now = context.now()
  if (!isOpenAt(hoursOfChannel(channel), now, context.zone) || !(await holdTurn(context, channel, run, now)))
    return
  // A fetch may take hours. The turn is kept as a lease is: a dead node's turn is soon free, a live node's is not.
  const signal = AbortSignal.any([context.heartbeat.unbroken, context.stopping])
  try {
    await send(context, channel, wake)
    await fetch(runner, channel, signal)
  } catch (thrown) {
    if (!context.stopping.aborted)
      context.log.warn({ err: thrown, channel: channel.code }, 'automation of a channel failed')
  } finally {
    await context.store.write((tx) => giveAutomationRunBack(tx, channel.code, context.owner))
  }
}

/** False: another node takes this turn, or there is none yet. */
async function holdTurn(
  context: EngineContext,
  channel: ChannelRecord,
  run: AutomationRun | undefined,
  now: number,
): Promise<boolean> {
  // The first look, and the first one after the clock was set back, only start the clock, except for `watch`, whose files
  // may be waiting already. So a plan's turns that a clock which was ahead has taken come again when it is their time.
  const starts = (!run || isOfClockAhead(run.ran_at, context)) && !channel.automation?.watch
  const turn = starts
    ? { ran_at: now, held_by: null, held_until: 0 }
    : { ran_at: now, held_by: context.owner, held_until: now + context.leaseMs }
  const taken = await context.store.write((tx) =>
    run ? takeAutomationRun(tx, channel.code, run, turn) : insertAutomationRun(tx, channel.code, turn),
  )
  return taken && !starts
}

function nextTurn(
  channel: ChannelRecord,
  ranAt: number,
  context: EngineContext,
  calendars: Calendars,
): number {
  const { watch, every, cron } = channel.automation ?? {}
  if (watch) return ranAt + WATCH_MS
  if (every) return ranAt + spanMs(every)
  return (
    (cron === undefined ? undefined : cronTurn(channel, ranAt, context, calendars)) ?? Number.MAX_SAFE_INTEGER
  )
}

// The next turn of a plan is asked for at every look and stays the same until it is taken.
const cronTurns = new WeakMap<
  ChannelRecord,
  { ranAt: number; calendars: Calendars; at: number | undefined }
>()

function cronTurn(
  channel: ChannelRecord,
  ranAt: number,
  { zone, log }: EngineContext,
  calendars: Calendars,
): number | undefined {
  const known = cronTurns.get(channel)
  if (known?.ranAt === ranAt && known.calendars === calendars) return known.at
  const { cron = '', calendar, onHoliday = 'skip' } = channel.automation ?? {}
  try {
    const works = calendar === undefined ? undefined : calendars(calendar)
    const working = works && { works, onHoliday }
    const at = nextCronTurn({ cron, timezone: zone.name, working }, ranAt)
    cronTurns.set(channel, { ranAt, calendars, at })
    return at
  } catch (thrown) {
    // A plan that cannot be read must not stop the other channels.
    log.warn({ err: thrown, cron }, 'a plan cannot be read')
    return undefined
  }
}

/** Nothing to send, an emission under way or a closed direction is normal here, and no error. */
async function send(context: EngineContext, channel: ChannelRecord, wake: () => void): Promise<void> {
  if (!goes(channel.config, 'EMISION') || directoriesFor(channel.config, 'EMISION').length === 0) return
  const { store, now, roots } = context
  const asking = { store, fileRoots: roots.fileRoots, now, requestedBy: null }
  try {
    // Before the pause is read: a failure and its pause are one write, so an emission that is over by now has left its own.
    const active = await activeTransfers(store.db, channel.code)
    if (active.some(({ direction }) => direction === 'EMISION')) return
    const pause = await findPause(store.db, channel.code)
    // It failed, and nothing has changed since: it is not repeated at every look.
    if (pause && waits(pause, now()) && pause.tried === (await tryingWith(asking, channel))) return
    const { files } = await requestSend(asking, channel, 'AUTOMATIC')
    wake()
    await store.write((tx) => noteTried(tx, channel.code, triedWith(channel, files)))
  } catch (thrown) {
    if (!(thrown instanceof NodeError) || thrown.status >= 500) throw thrown
  }
}

/** What is left is never longer than the pause itself, unless the clock was set back. */
function waits(
  { failures, waitUntil }: Pick<AutomaticPause, 'failures' | 'waitUntil'>,
  now: number,
): boolean {
  return now < waitUntil && waitUntil <= now + automaticPauseMs(failures)
}

async function tryingWith(asking: Asking, channel: ChannelRecord): Promise<string> {
  const { keyExchangeChannel } = channel.config
  const files = keyExchangeChannel ? [CERTIFICATE] : await filesToSend(asking, channel, 'AUTOMATIC')
  return triedWith(channel, files)
}

/** It lies nowhere: it is written when it is sent. */
const CERTIFICATE = { path: '', size: 0, modifiedAt: 0 }

/** Fetches whatever the partner has: one transfer for each channel that it has files for. */
async function fetch(runner: Runner, channel: ChannelRecord, signal: AbortSignal): Promise<void> {
  const { config } = channel
  if (goes(config, 'RECEPCION') && !closedBecause(config, 'RECEPCION'))
    await callAndListen(runner, channel, signal)
}

/** Calls the partner and gives it the turn, unless it waits after a failure. The receipts that we owe go with the call. */
async function callAndListen(runner: Runner, channel: ChannelRecord, signal: AbortSignal): Promise<void> {
  const { context } = runner
  const pause = await findFetchPause(context.store.db, channel.code)
  if (pause?.revision === channel.revision && waits(pause, context.now())) return
  let lent: Lent | undefined
  try {
    lent = await call(runner, channel)
    if (!lent) return
    await listen(runner, lent, signal)
  } catch (thrown) {
    if (signal.aborted || context.stopping.aborted) throw thrown
    // A partner that refuses the call would refuse each one. The circuit breaker has those that do not answer. Once it
    // has let us in, a file that fails does not hold up the next ones, and to look for them is no more than it expects.
    await fetchFailed(context, channel, { error: toNodeError(thrown), isCalled: lent !== undefined })
    return
  }
  if (pause) await fetchSucceeded(context, channel)
}

/** Warned of once, until a fetch succeeds or somebody does something about it: it may fail at every look. */
async function fetchFailed(
  { store, log, now }: EngineContext,
  channel: ChannelRecord,
  { error, isCalled }: { error: NodeError; isCalled: boolean },
): Promise<void> {
  const at = now()
  const isRefused = !isCalled && !error.retry
  const isFirst = await store.write(async (tx) => {
    const first = await noteFetchFailed(tx, channel, { now: at, pauses: isRefused })
    const detail = `automatic fetch: ${error.message}`
    if (first && isRefused) await addHistory(tx, channel.code, [{ at, event: 'CONNECTION_REFUSED', detail }])
    return first
  })
  log[isFirst ? 'warn' : 'debug'](
    { channel: channel.code, code: error.code, err: error },
    'an automatic fetch failed',
  )
}

async function fetchSucceeded({ store, log }: EngineContext, { code }: ChannelRecord): Promise<void> {
  if (await store.write((tx) => endFetchPause(tx, code)))
    log.info({ channel: code }, 'automatic fetches work again')
}

/** Undefined: it may not be called, or not now. */
async function call(runner: Runner, channel: ChannelRecord): Promise<Lent | undefined> {
  const { context, sessions } = runner
  if (channel.config.deactivateChannel || (await callNotBefore(context, channel.contactId)) > 0)
    return undefined
  const plan = await makeTransferPlan(context.store.db, context.seal, snapshotOf(channel))
  const protocol = protocolFor(runner, plan)
  if (isSpooled(plan, protocol) || !(mayCall(channel) || protocol.capabilities.nobodyCalls)) return undefined
  return sessions.lend(plan, 0, 'fetch')
}

async function listen({ receptions }: Runner, lent: Lent, signal: AbortSignal): Promise<void> {
  let ok = false
  try {
    await lent.session.fetch(signal)
    ok = true
  } finally {
    receptions.sessionDone(lent.session.reach)
    await lent.giveBack(ok)
  }
}

function mayCall({ config }: ChannelRecord): boolean {
  return (
    !config.deactivateChannel && config.connection?.advancedConfigurationConnection?.callingEnd !== 'REMOTO'
  )
}

/** Channels of the partner by which it may be called now. */
async function callable({ context }: Runner, contactId: string): Promise<ChannelRecord[]> {
  const channels = await channelsOfContact(context.store.db, contactId)
  return channels.filter((one) => mayCall(one) && isOpenAt(hoursOfChannel(one), context.now(), context.zone))
}

/**
 * Delivers receipts that are owed to a partner and that it has not called for. The call is that of a receipt's own channel:
 * another one's session may not reach it, and the partner would be called for nothing.
 */
async function deliverOwed(runner: Runner, owed: OwedReceipts, contactId: string): Promise<void> {
  const { context } = runner
  const channels = await callable(runner, contactId)
  if (channels.length === 0) return
  for await (const code of channelsOwed(context, contactId, (id) => owed.mayBeTold(contactId, id))) {
    const channel = channels.find((one) => one.code === code)
    if (channel) return callAndListen(runner, channel, context.stopping)
  }
}

/** Takes receipts that the partner owes for files of these channels. */
async function callForReceipts(runner: Runner, contactId: string, codes: readonly string[]): Promise<void> {
  const channel = (await callable(runner, contactId)).find(({ code }) => codes.includes(code))
  if (channel) await callAndListen(runner, channel, runner.context.stopping)
}
