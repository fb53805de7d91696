// Takes away what is older than the settings, or a channel's own rule, say: transfers, history, the figures of hours, and
// what the two memories of files know of that time; receipts that partners have taken, and tokens that ended. Channel by channel in small
// pieces; where it is cut off, the next run goes on. An archive, where there is one, has each row before it goes (archive.ts).

import { DAY_MS } from '../domain/time.ts'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { channelRules } from '../store/retention/channel-rules.ts'
import type { ChannelRule } from '../store/retention/channel-rules.ts'
import { removeDelivered } from '../store/retention/delivered-receipts.ts'
import { oldHistory, removeHistory } from '../store/retention/old-history.ts'
import { hasOld, oldTransfers, removeHours, removeTransfers } from '../store/retention/old-transfers.ts'
import { removeEndedTokens } from '../store/tokens.ts'
import { olderAtWork } from '../store/transfers/signs-of-life.ts'
import type { Store } from '../store/database/store.ts'
import { archiveIn } from './archive.ts'
import type { Archive } from './archive.ts'
import { forgetFiles } from './forget-files.ts'
import type { Pieces, Task } from './upkeep.ts'

export type RetentionParts = {
  store: Store
  config: Pick<Config, 'keepTransfersDays' | 'keepHistoryDays' | 'archiveDir' | 'fileRoots'>
  log: Log
  now: () => number
}

const ROWS_AT_ONCE = 50
const DELIVERED_KEPT_DAYS = 1
/** So that lists show for a while when it was last used. */
const ENDED_TOKENS_KEPT_DAYS = 30
/**
 * A piece is 3 to 4 ms of a core, and where cores are few a request or two wait for it. At five pieces a second those are
 * too few to be seen in the p99 of a busy node, and a million rows go in little more than an hour.
 */
const PAUSE_MS = 200
const CHANNELS_AT_ONCE = 500

export function retentionTask(parts: RetentionParts): Task {
  const { store, config, log, now } = parts
  return {
    name: 'retention',
    everyMs: 3_600_000,
    pauseMs: PAUSE_MS,
    run: async (pieces, hold) => {
      // An older node counts positions from 1 and would give a new transfer a place that is gone.
      if ((await olderAtWork(store.db, now())).length > 0) return
      const archive = config.archiveDir === undefined ? undefined : archiveIn(store, config.archiveDir, hold)
      const removed = { transfers: 0, history: 0 }
      for await (const rule of rules(parts)) {
        removed.transfers += await transfersOf(parts, archive, rule, pieces)
        removed.history += await historyOf(parts, archive, rule, pieces)
        await forgetFiles(parts, rule, cutoff(now(), rule.transfersDays), pieces)
      }
      const { keepTransfersDays } = config
      if (keepTransfersDays !== undefined)
        await pieces(() =>
          store.write((tx) => removeHours(tx, now() - keepTransfersDays * DAY_MS, ROWS_AT_ONCE)),
        )
      await pieces(() =>
        store.write((tx) => removeDelivered(tx, now() - DELIVERED_KEPT_DAYS * DAY_MS, ROWS_AT_ONCE)),
      )
      await store.write((tx) => removeEndedTokens(tx, now() - ENDED_TOKENS_KEPT_DAYS * DAY_MS))
      if (removed.transfers + removed.history > 0)
        log.info(removed, 'what is older than it is kept was removed')
    },
  }
}

/** Every channel with what counts for it; none where nothing is ever removed. */
async function* rules({ store, config }: RetentionParts): AsyncGenerator<ChannelRule> {
  let after = ''
  for (;;) {
    const some = await channelRules(store.db, after, CHANNELS_AT_ONCE)
    for (const { code, transfersDays, historyDays } of some)
      yield {
        code,
        transfersDays: transfersDays ?? config.keepTransfersDays,
        historyDays: historyDays ?? config.keepHistoryDays,
      }
    const last = some.at(-1)
    if (!last) return
    after = last.code
  }
}

function cutoff(now: number, days: number | undefined): number | undefined {
  return days === undefined ? undefined : now - days * DAY_MS
}

async function transfersOf(
  { store, now }: RetentionParts,
  archive: Archive | undefined,
  { code, transfersDays }: ChannelRule,
  pieces: Pieces,
): Promise<number> {
  const before = cutoff(now(), transfersDays)
  if (before === undefined || !(await hasOld(store.db, code, before))) return 0
  let removed = 0
  await pieces(async () => {
    const gone = archive
      ? await archiveSome(store, archive, code, before, now())
      : await store.write((tx) => removeTransfers(tx, code, before, ROWS_AT_ONCE))
    removed += gone
    return gone > 0
  })
  return removed
}

async function archiveSome(
  store: Store,
  archive: Archive,
  code: string,
  before: number,
  now: number,
): Promise<number> {
  const old = await oldTransfers(store.db, code, before, ROWS_AT_ONCE)
  if (old.length === 0) return 0
  const lines = old.map((transfer) => ({ kind: 'transfer', ...transfer }))
  const inArchive = await archive.write(lines, now)
  const ids = new Set(old.map(({ id }) => id))
  return store.write(async (tx) => {
    await inArchive(tx)
    return removeTransfers(tx, code, before, ROWS_AT_ONCE, ids)
  })
}

async function historyOf(
  { store, now }: RetentionParts,
  archive: Archive | undefined,
  { code, historyDays }: ChannelRule,
  pieces: Pieces,
): Promise<number> {
  const before = cutoff(now(), historyDays)
  if (before === undefined) return 0
  let removed = 0
  await pieces(async () => {
    const old = await oldHistory(store.db, code, before, ROWS_AT_ONCE)
    const last = old.at(-1)
    if (!last) return false
    const inArchive = await archive?.write(
      old.map((entry) => ({ kind: 'history', channelCode: code, ...entry })),
      now(),
    )
    await store.write(async (tx) => {
      await inArchive?.(tx)
      await removeHistory(tx, code, last.position)
    })
    removed += old.length
    return old.length === ROWS_AT_ONCE
  })
  return removed
}
