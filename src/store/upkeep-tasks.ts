// Who of several nodes does what the platform does for itself, and when it was last done.

import type { Db, Dialect, Tx } from './database/store.ts'

export async function taskDoneAt(db: Db, name: string): Promise<number> {
  const row = await db.selectFrom('upkeep_task').select('done_at').where('name', '=', name).executeTakeFirst()
  return row?.done_at ?? 0
}

/** Nobody holds a task for longer: a hold beyond it was taken by a clock that has been set back since. */
const LONGEST_HOLD_MS = 3_600_000

export type Hold = { owner: string; now: number; until: number }

/** False: another node is at it. Taken again before its end it is kept. */
export async function holdTask(tx: Tx, name: string, { owner, now, until }: Hold): Promise<boolean> {
  await tx
    .insertInto('upkeep_task')
    .values({ name, done_at: 0, held_by: null, held_until: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const held = await tx
    .updateTable('upkeep_task')
    .set({ held_by: owner, held_until: until })
    .where('name', '=', name)
    .where((eb) =>
      eb.or([
        eb('held_until', '<', now),
        eb('held_until', '>', now + LONGEST_HOLD_MS),
        eb('held_by', '=', owner),
      ]),
    )
    .executeTakeFirst()
  return held.numUpdatedRows === 1n
}

/** Nobody else takes it before the transaction is over. */
export async function isHeldBy(tx: Tx, dialect: Dialect, name: string, owner: string): Promise<boolean> {
  const held = await tx
    .selectFrom('upkeep_task')
    .select('name')
    .where('name', '=', name)
    .where('held_by', '=', owner)
    .$if(dialect.rowLocks, (query) => query.forUpdate())
    .executeTakeFirst()
  return held !== undefined
}

/** `doneAt` is left out by whoever could not finish. */
export async function releaseTask(tx: Tx, name: string, owner: string, doneAt?: number): Promise<void> {
  await tx
    .updateTable('upkeep_task')
    .set({ held_by: null, held_until: 0, ...(doneAt !== undefined && { done_at: doneAt }) })
    .where('name', '=', name)
    .where('held_by', '=', owner)
    .execute()
}
