// What the database before a restored one knows of expectations: which files have come since the backup, and what was decided
// and told of it.

import { only } from '../after-restore.ts'
import type { Before } from '../after-restore.ts'
import { batches } from '../database/batches.ts'
import { columnsThere } from '../database/set-aside.ts'
import { loadRows, rowsOf } from '../database/snapshot.ts'
import type { Db, Tx } from '../database/store.ts'
import type { ExpectationRow } from '../database/tables.ts'
import { planAnew } from './expectations.ts'

/**
 * The days of expectations that are what they were when the backup was made. Of others the open days are planned anew, and
 * counted from the events, which must have been brought over.
 */
export async function bringDays(tx: Tx, before: Before): Promise<void> {
  if (!before.tables.has('expectation_day')) return
  const same = await unchanged(tx, before.db)
  for (const some of batches([...same.keys()]))
    await tx.deleteFrom('expectation_day').where('expectation_id', 'in', some).execute()
  for (const { id, planned_through, plan_at } of same.values())
    await tx.updateTable('expectation').set({ planned_through, plan_at }).where('id', '=', id).execute()
  const columns = await columnsThere(tx, before.dialect, 'expectation_day')
  for await (const rows of rowsOf(before.db, before.dialect, before.nameOf('expectation_day'))) {
    const taken = rows.filter((row) => same.has(String(row.expectation_id)))
    await loadRows(
      tx,
      'expectation_day',
      taken.map((row) => only(row, columns)),
    )
  }
  const others = await tx.selectFrom('expectation').select('id').execute()
  await planAnew(
    tx,
    others.map(({ id }) => id).filter((id) => !same.has(id)),
  )
}

/** As the database before has them. Where a calendar differs, any may fall on other days. */
async function unchanged(tx: Tx, before: Db): Promise<Map<string, ExpectationRow>> {
  const calendars = async (db: Db) =>
    JSON.stringify(await db.selectFrom('calendar').select(['id', 'definition']).orderBy('id').execute())
  if ((await calendars(tx)) !== (await calendars(before))) return new Map()
  const own = await tx.selectFrom('expectation').select(['id', 'definition']).execute()
  const definitions = new Map(own.map(({ id, definition }) => [id, definition]))
  const theirs = await before
    .selectFrom('expectation')
    .select(['id', 'channel_code', 'definition', 'planned_through', 'plan_at'])
    .execute()
  return new Map(
    theirs.filter(({ id, definition }) => definitions.get(id) === definition).map((row) => [row.id, row]),
  )
}
