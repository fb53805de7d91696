// Channels that work by themselves: `watch` sends what appears, `every` and `cron` send at their times; where this node
// calls, the partner's files are fetched at the same moments. Several nodes may look at the same channel: each turn is
// taken in the database by one of them.

import { Cron } from 'croner'
import type { ChannelRecord } from '../store/channels.ts'
import { listChannels } from '../store/channels.ts'
import { closedBecause, directoriesFor, goes, hoursOf } from '../domain/channel.ts'
import { isOpenAt } from '../domain/time.ts'
import { NodeError } from '../errors.ts'
import { requestSend } from '../transfers/request.ts'
import { callNotBefore } from './breaker.ts'
import { makePlan, snapshotOf } from './plan.ts'
import type { Runner } from './runner.ts'
import type { Work } from './work.ts'

const LOOK_MS = 1000
/** How often `watch` looks, and fetches. */
const WATCH_MS = 2000
const TURN_MS = 60_000

export type AutomationClock = { stop(): Promise<void> }

export function startAutomation(runner: Runner, wake: () => void): AutomationClock {
  const { work } = runner
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> = Promise.resolve()
  const look = async () => {
    for (const channel of await listChannels(work.store.db)) {
      if (stopped) return
      if (channel.automation) await takeTurn(runner, channel, wake)
    }
  }
  const again = () => {
    looking = look()
      .catch((thrown: unknown) => work.log.warn({ err: thrown }, 'automation could not look at its channels'))
      .finally(() => {
        if (!stopped) timer = setTimeout(again, LOOK_MS)
      })
  }
  again()
  return {
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await looking
    },
  }
}

async function takeTurn(runner: Runner, channel: ChannelRecord, wake: () => void): Promise<void> {
  const { work } = runner
  const now = work.now()
  if (!isOpenAt(hoursOf(channel.config), now, work.zone) || !(await isTurn(work, channel, now))) return
  try {
    await send(work, channel, wake)
    await fetch(runner, channel)
  } catch (thrown) {
    work.log.warn({ err: thrown, channel: channel.code }, 'automation of a channel failed')
  } finally {
    await work.store.write((tx) =>
      tx
        .updateTable('automation_run')
        .set({ held_by: null, held_until: 0 })
        .where('channel_code', '=', channel.code)
        .where('held_by', '=', work.owner)
        .execute(),
    )
  }
}

/** One compare-and-set decides which node takes this turn. */
async function isTurn(work: Work, channel: ChannelRecord, now: number): Promise<boolean> {
  const row = await work.store.db
    .selectFrom('automation_run')
    .selectAll()
    .where('channel_code', '=', channel.code)
    .executeTakeFirst()
  if (row && (row.held_until > now || nextTurn(channel, row.ran_at, work) > now)) return false
  const turn = { ran_at: now, held_by: work.owner, held_until: now + TURN_MS }
  return work.store.write(async (tx) => {
    if (!row) {
      // The first look only starts the clock, except for `watch`, whose files may be waiting already.
      const first = channel.automation?.watch ? turn : { ran_at: now, held_by: null, held_until: 0 }
      const made = await tx
        .insertInto('automation_run')
        .values({ channel_code: channel.code, ...first })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst()
      return made.numInsertedOrUpdatedRows === 1n && first === turn
    }
    const taken = await tx
      .updateTable('automation_run')
      .set(turn)
      .where('channel_code', '=', channel.code)
      .where('ran_at', '=', row.ran_at)
      .executeTakeFirst()
    return taken.numUpdatedRows === 1n
  })
}

function nextTurn(channel: ChannelRecord, ranAt: number, work: Work): number {
  const { watch, every, cron } = channel.automation ?? {}
  if (watch) return ranAt + WATCH_MS
  if (every) return ranAt + spanMs(every)
  if (cron)
    return (
      new Cron(cron, { timezone: work.zone.name }).nextRun(new Date(ranAt))?.getTime() ??
      Number.MAX_SAFE_INTEGER
    )
  return Number.MAX_SAFE_INTEGER
}

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function spanMs(every: string): number {
  const [, count = '0', unit = 's'] = /^(\d+)([smhd])$/.exec(every) ?? []
  return Math.max(1000, Number(count) * (UNITS[unit] ?? 1000))
}

/** Nothing to send, an emission under way, a closed way: all quite normal for a clock. */
async function send(work: Work, channel: ChannelRecord, wake: () => void): Promise<void> {
  if (!goes(channel.config, 'EMISION') || directoriesFor(channel.config, 'EMISION').length === 0) return
  try {
    await requestSend(
      { store: work.store, fileRoots: work.roots.fileRoots, now: work.now, requestedBy: null },
      channel,
      'AUTOMATIC',
    )
    wake()
  } catch (thrown) {
    if (!(thrown instanceof NodeError) || thrown.status >= 500) throw thrown
  }
}

/** Where this node calls to receive: whatever the partner has, each file with a transfer of its own. */
async function fetch({ work, sessions }: Runner, channel: ChannelRecord): Promise<void> {
  const { config } = channel
  if (
    !goes(config, 'RECEPCION') ||
    closedBecause(config, 'RECEPCION') ||
    config.connection?.advancedConfigurationConnection?.callingEnd === 'REMOTO'
  )
    return
  if ((await callNotBefore(work, channel.contactId)) > 0) return
  const plan = await makePlan(work.store.db, work.seal, snapshotOf(channel))
  const lent = await sessions.lend(plan, 0)
  let ok = false
  try {
    await lent.session.fetch(work.stopping)
    ok = true
  } finally {
    await lent.giveBack(ok)
  }
}
