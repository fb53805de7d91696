// When the automation of each channel ran last, which node holds its turn now, and how long it waits after automatic
// emissions and automatic fetches that failed.

import { automaticPauseMs } from '../domain/retry-schedule.ts'
import { hot } from './database/prepared-queries.ts'
import type { Arg } from './database/prepared-queries.ts'
import type { Db, Tx } from './database/store.ts'

export type AutomationRun = { ran_at: number; held_by: string | null; held_until: number }

/** By channel. */
export async function automationRuns(db: Db): Promise<Map<string, AutomationRun>> {
  const rows = await db
    .selectFrom('automation_run')
    .select(['channel_code', 'ran_at', 'held_by', 'held_until'])
    .execute()
  return new Map(rows.map(({ channel_code: code, ...run }) => [code, run]))
}

/** The channel's first one. False: another node was quicker. */
export async function insertAutomationRun(tx: Tx, code: string, run: AutomationRun): Promise<boolean> {
  const made = await tx
    .insertInto('automation_run')
    .values({ channel_code: code, ...run })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return made.numInsertedOrUpdatedRows === 1n
}

/** One compare-and-set decides which node takes this turn. */
export async function takeAutomationRun(
  tx: Tx,
  code: string,
  seen: AutomationRun,
  turn: AutomationRun,
): Promise<boolean> {
  const taken = await tx
    .updateTable('automation_run')
    .set(turn)
    .where('channel_code', '=', code)
    .where('ran_at', '=', seen.ran_at)
    .where('held_until', '=', seen.held_until)
    .executeTakeFirst()
  return taken.numUpdatedRows === 1n
}

/** Unless another node has taken it meanwhile. */
export async function giveAutomationRunBack(tx: Tx, code: string, owner: string): Promise<void> {
  await tx
    .updateTable('automation_run')
    .set({ held_by: null, held_until: 0 })
    .where('channel_code', '=', code)
    .where('held_by', '=', owner)
    .execute()
}

/** Automatic emissions that failed in a row, when the next one is due at the latest, and what the last was tried with. */
export type AutomaticPause = { failures: number; waitUntil: number; tried: string | null }

/** Undefined: the last automatic emission did not fail. */
export async function findPause(db: Db, code: string): Promise<AutomaticPause | undefined> {
  const row = await db
    .selectFrom('automation_run')
    .select(['failures', 'wait_until', 'tried'])
    .where('channel_code', '=', code)
    .where('failures', '>', 0)
    .executeTakeFirst()
  return row && { failures: row.failures, waitUntil: row.wait_until, tried: row.tried }
}

export type PausedRun = { code: string; failures: number; waitUntil: number }

/** Channels that wait now, those that wait longest first. */
export async function pausedRuns(db: Db, now: number): Promise<PausedRun[]> {
  const rows = await db
    .selectFrom('automation_run')
    .select(['channel_code', 'failures', 'wait_until'])
    .where('failures', '>', 0)
    .where('wait_until', '>', now)
    .orderBy('wait_until', 'desc')
    .orderBy('channel_code')
    .execute()
  return rows.map((row) => ({
    code: row.channel_code,
    failures: row.failures,
    waitUntil: row.wait_until,
  }))
}

/** An automatic emission failed: the pause grows. */
export async function lengthenPause(tx: Tx, code: string, now: number): Promise<void> {
  const failures = ((await findPause(tx, code))?.failures ?? 0) + 1
  await tx
    .updateTable('automation_run')
    .set({ failures, wait_until: now + automaticPauseMs(failures) })
    .where('channel_code', '=', code)
    .execute()
}

/** An emission completed, or somebody has dealt with the failure. */
export async function endPause(tx: Tx, code: string): Promise<void> {
  await clearPause(tx, { code })
}

const clearPause = hot((db, arg: Arg<{ code: string }>) =>
  db
    .updateTable('automation_run')
    .set({ failures: 0, wait_until: 0, tried: null })
    .where('channel_code', '=', arg('code'))
    .where('failures', '>', 0),
)

export async function noteTried(tx: Tx, code: string, tried: string): Promise<void> {
  await tx.updateTable('automation_run').set({ tried }).where('channel_code', '=', code).execute()
}

/** Automatic fetches that failed in a row, with which revision of the channel, and when the next one is due. */
export type FetchPause = { failures: number; revision: number; waitUntil: number }

/** Undefined: the last automatic fetch did not fail. */
export async function findFetchPause(db: Db, code: string): Promise<FetchPause | undefined> {
  const row = await db
    .selectFrom('automation_run')
    .select(['fetch_failures', 'fetch_revision', 'fetch_wait_until'])
    .where('channel_code', '=', code)
    .where('fetch_failures', '>', 0)
    .executeTakeFirst()
  return (
    row && { failures: row.fetch_failures, revision: row.fetch_revision, waitUntil: row.fetch_wait_until }
  )
}

/**
 * An automatic fetch failed. With `pauses` the next ones wait, longer each time. True: it is the first one that failed, or
 * the first one since the channel changed.
 */
export async function noteFetchFailed(
  tx: Tx,
  { code, revision }: { code: string; revision: number },
  { now, pauses }: { now: number; pauses: boolean },
): Promise<boolean> {
  const before = await findFetchPause(tx, code)
  const known = before?.revision === revision ? before.failures : 0
  const failures = Math.max(1, pauses ? known + 1 : known)
  const noted = await tx
    .updateTable('automation_run')
    .set({
      fetch_failures: failures,
      fetch_revision: revision,
      fetch_wait_until: pauses ? now + automaticPauseMs(failures) : 0,
    })
    .where('channel_code', '=', code)
    .executeTakeFirst()
  return noted.numUpdatedRows === 1n && known === 0
}

const NO_FETCH_PAUSE = { fetch_failures: 0, fetch_wait_until: 0 }

/** A fetch succeeded, or somebody has dealt with the failure. False: none had failed. */
export async function endFetchPause(tx: Tx, code: string): Promise<boolean> {
  const ended = await tx
    .updateTable('automation_run')
    .set(NO_FETCH_PAUSE)
    .where('channel_code', '=', code)
    .where('fetch_failures', '>', 0)
    .executeTakeFirst()
  return ended.numUpdatedRows === 1n
}

/** How the partner is called has changed. */
export async function endFetchPausesOf(tx: Tx, contactId: string): Promise<void> {
  await tx
    .updateTable('automation_run')
    .set(NO_FETCH_PAUSE)
    .where('fetch_failures', '>', 0)
    .where('channel_code', 'in', (eb) =>
      eb.selectFrom('channel').select('code').where('contact_id', '=', contactId),
    )
    .execute()
}
