// What is due on channels, as it was described. Its days lie in expectation-days.ts.

import type { Expectation } from '../../contract/calendar.ts'
import { batches } from '../database/batches.ts'
import type { Db, Tx } from '../database/store.ts'
import type { ExpectationRow } from '../database/tables.ts'

export type ExpectationRecord = {
  expectation: Expectation
  /** The last day that has been planned; '' if none has. */
  plannedThrough: string
}

export async function listExpectations(db: Db): Promise<Expectation[]> {
  const rows = await db.selectFrom('expectation').selectAll().orderBy('id').execute()
  return rows.map((row) => toRecord(row).expectation)
}

export async function hasExpectations(db: Db): Promise<boolean> {
  return (await db.selectFrom('expectation').select('id').limit(1).executeTakeFirst()) !== undefined
}

export async function findExpectation(db: Db, id: string): Promise<Expectation | undefined> {
  const row = await db.selectFrom('expectation').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toRecord(row).expectation
}

/** Days that are not decided are planned anew; those that are stay as they were. */
export async function putExpectations(tx: Tx, made: readonly Expectation[]): Promise<void> {
  for (const some of batches(made)) {
    const rows = some.map((expectation) => ({
      id: expectation.id,
      channel_code: expectation.channel,
      definition: JSON.stringify(expectation),
      planned_through: '',
      plan_at: 0,
    }))
    await tx
      .insertInto('expectation')
      .values(rows)
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet((eb) => ({
          channel_code: eb.ref('excluded.channel_code'),
          definition: eb.ref('excluded.definition'),
          planned_through: '',
          plan_at: 0,
        })),
      )
      .execute()
    await forgetOpenDays(
      tx,
      some.map(({ id }) => id),
    )
  }
}

/** A calendar has changed: what is not decided yet may fall on other days now. */
export async function planAnew(tx: Tx, ids: readonly string[]): Promise<void> {
  for (const some of batches(ids)) {
    await tx
      .updateTable('expectation')
      .set({ planned_through: '', plan_at: 0 })
      .where('id', 'in', some)
      .execute()
    await forgetOpenDays(tx, some)
  }
}

/** The clock was set back: days whose window has not opened are made again when it is their time. */
export async function planFrom(tx: Tx, ids: readonly string[], now: number): Promise<void> {
  for (const some of batches(ids)) {
    await tx
      .deleteFrom('expectation_day')
      .where('expectation_id', 'in', some)
      .where('opens_at', '>', now)
      .execute()
    await tx
      .updateTable('expectation')
      .set((eb) => ({
        planned_through: eb.fn.coalesce(
          eb
            .selectFrom('expectation_day')
            .select((of) => of.fn.max('day').as('day'))
            .whereRef('expectation_day.expectation_id', '=', 'expectation.id'),
          eb.val(''),
        ),
        plan_at: 0,
      }))
      .where('id', 'in', some)
      .execute()
  }
}

async function forgetOpenDays(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx
    .deleteFrom('expectation_day')
    .where('expectation_id', 'in', ids)
    .where('state', 'in', ['waiting', 'warned'])
    .execute()
}

export async function removeExpectations(tx: Tx, ids: readonly string[]): Promise<void> {
  for (const some of batches(ids)) await tx.deleteFrom('expectation').where('id', 'in', some).execute()
}

/** Those whose next day is to be planned. */
export async function expectationsToPlan(db: Db, now: number, limit: number): Promise<ExpectationRecord[]> {
  const rows = await db
    .selectFrom('expectation')
    .selectAll()
    .where('plan_at', '<=', now)
    .orderBy('plan_at')
    .limit(limit)
    .execute()
  return rows.map(toRecord)
}

export async function setPlanned(
  tx: Tx,
  id: string,
  { plannedThrough, planAt }: { plannedThrough: string; planAt: number },
): Promise<void> {
  await tx
    .updateTable('expectation')
    .set({ planned_through: plannedThrough, plan_at: planAt })
    .where('id', '=', id)
    .execute()
}

function toRecord(row: ExpectationRow): ExpectationRecord {
  return {
    expectation: JSON.parse(row.definition) as Expectation, // written by putExpectations alone
    plannedThrough: row.planned_through,
  }
}
