// When the automation of each channel ran last, and which node holds its turn now.

import type { Db, Tx } from './database/store.ts'

export type AutomationRun = { ran_at: number; held_by: string | null; held_until: number }

/** By channel. */
export async function automationRuns(db: Db): Promise<Map<string, AutomationRun>> {
  const rows = await db.selectFrom('automation_run').selectAll().execute()
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
