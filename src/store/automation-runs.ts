// When the automation of each channel ran last, which node holds its turn now, and how long it waits after automatic
// emissions that failed.

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
