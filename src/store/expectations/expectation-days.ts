// The days of expectations: made ahead of time, changed by files and by the clock, always under the lock on the events'
// positions (events/sequence.ts), so that of several nodes one decides and no file is counted twice.

import type { TransferDirection } from '../../contract/transfer.ts'
import type { ExpectationDay, ExpectationState } from '../../domain/expectation-day.ts'
import { batches } from '../database/batches.ts'
import type { Db, Tx } from '../database/store.ts'
import type { ExpectationDayRow } from '../database/tables.ts'

/** A day that is there already stays as it is. Returns those that were not. */
export async function addDays(tx: Tx, days: readonly ExpectationDay[]): Promise<ExpectationDay[]> {
  const added: ExpectationDay[] = []
  for (const some of batches(days))
    for (const row of await tx
      .insertInto('expectation_day')
      .values(some.map(toRow))
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .execute())
      added.push(toDay(row))
  return added
}

export async function updateDay(tx: Tx, day: ExpectationDay): Promise<void> {
  await tx
    .updateTable('expectation_day')
    .set({
      state: day.state,
      count: day.count,
      changed_at: day.changedAt,
      next_at: day.nextAt,
      listens_until: day.listensUntil,
    })
    .where('expectation_id', '=', day.expectationId)
    .where('day', '=', day.day)
    .execute()
}

/** Those at which the clock has something to decide. */
export async function daysDue(db: Db, now: number, limit: number): Promise<ExpectationDay[]> {
  const rows = await db
    .selectFrom('expectation_day')
    .selectAll()
    .where('next_at', '<=', now)
    .orderBy('next_at')
    .limit(limit)
    .execute()
  return rows.map(toDay)
}

/** Days that were decided before their window opened, or by its end before it came: the clock was ahead. */
export async function daysDecidedAhead(db: Db, now: number): Promise<ExpectationDay[]> {
  const rows = await db
    .selectFrom('expectation_day')
    .selectAll()
    .where('next_at', 'is', null)
    .where('closes_at', '>', now)
    .where((eb) =>
      eb.or([
        eb('opens_at', '>', now),
        eb('state', '=', 'missed'),
        eb.and([eb('state', '=', 'met'), eb('at_least', '=', 0)]),
      ]),
    )
    .execute()
  return rows.map(toDay)
}

/** What a day listens for, and nothing else of it. */
export type Listener = Pick<ExpectationDay, 'expectationId' | 'channelCode' | 'direction' | 'files'>

/**
 * What days of these channels listen for, between these times. Of thousands most listen for other files: whoever asks
 * reads the days of those alone that he needs.
 */
export async function listeners(
  db: Db,
  channelCodes: readonly string[],
  { from, until }: { from: number; until: number },
): Promise<Listener[]> {
  const found: Listener[] = []
  for (const some of batches(channelCodes))
    for (const row of await db
      .selectFrom('expectation_day')
      .select(['expectation_id', 'channel_code', 'direction', 'files'])
      .where('channel_code', 'in', some)
      .where('listens_until', '>', from)
      .where('opens_at', '<=', until)
      .execute())
      found.push({
        expectationId: row.expectation_id,
        channelCode: row.channel_code,
        direction: row.direction as TransferDirection, // a closed list, written by toRow alone
        files: row.files,
      })
  return found
}

/** The days of these expectations to which a file may belong that came at `since` or later. */
export async function daysListening(
  db: Db,
  expectationIds: readonly string[],
  since: number,
): Promise<ExpectationDay[]> {
  const rows: ExpectationDayRow[] = []
  for (const some of batches(expectationIds))
    rows.push(
      ...(await db
        .selectFrom('expectation_day')
        .selectAll()
        .where('expectation_id', 'in', some)
        .where('listens_until', '>', since)
        .execute()),
    )
  return rows.map(toDay)
}

export async function daysOf(db: Db, day: string): Promise<ExpectationDay[]> {
  const rows = await db
    .selectFrom('expectation_day')
    .selectAll()
    .where('day', '=', day)
    .orderBy('expectation_id')
    .execute()
  return rows.map(toDay)
}

/** Undecided days and days of another date that are still open at that time, such as a window over midnight. */
export async function daysOpenAt(db: Db, at: number): Promise<ExpectationDay[]> {
  const rows = await db
    .selectFrom('expectation_day')
    .selectAll()
    .where('next_at', 'is not', null)
    .where('opens_at', '<=', at)
    .orderBy('expectation_id')
    .execute()
  return rows.map(toDay)
}

export async function findDay(
  db: Db,
  expectationId: string,
  day: string,
): Promise<ExpectationDay | undefined> {
  const row = await db
    .selectFrom('expectation_day')
    .selectAll()
    .where('expectation_id', '=', expectationId)
    .where('day', '=', day)
    .executeTakeFirst()
  return row && toDay(row)
}

/** False: there is no such day. */
export async function acknowledgeDay(
  tx: Tx,
  key: { expectationId: string; day: string },
  by: { username: string; comment: string | null; now: number },
): Promise<boolean> {
  const done = await tx
    .updateTable('expectation_day')
    .set({ acknowledged_by: by.username, acknowledged_at: by.now, comment: by.comment })
    .where('expectation_id', '=', key.expectationId)
    .where('day', '=', key.day)
    .executeTakeFirst()
  return done.numUpdatedRows === 1n
}

/** Days that closed before that are forgotten. */
export async function forgetDays(tx: Tx, closedBefore: number): Promise<void> {
  await tx
    .deleteFrom('expectation_day')
    .where('next_at', 'is', null)
    .where('listens_until', '<', closedBefore)
    .execute()
}

function toDay(row: ExpectationDayRow): ExpectationDay {
  return {
    expectationId: row.expectation_id,
    day: row.day,
    channelCode: row.channel_code,
    direction: row.direction as TransferDirection, // closed lists, written by toRow alone
    files: row.files,
    atLeast: row.at_least,
    atMost: row.at_most,
    opensAt: row.opens_at,
    warnsAt: row.warns_at,
    closesAt: row.closes_at,
    listensUntil: row.listens_until,
    state: row.state as ExpectationState,
    count: row.count,
    changedAt: row.changed_at,
    nextAt: row.next_at,
    acknowledgedBy: row.acknowledged_by,
    acknowledgedAt: row.acknowledged_at,
    comment: row.comment,
  }
}

function toRow(day: ExpectationDay): ExpectationDayRow {
  return {
    expectation_id: day.expectationId,
    day: day.day,
    channel_code: day.channelCode,
    direction: day.direction,
    files: day.files,
    at_least: day.atLeast,
    at_most: day.atMost,
    opens_at: day.opensAt,
    warns_at: day.warnsAt,
    closes_at: day.closesAt,
    listens_until: day.listensUntil,
    state: day.state,
    count: day.count,
    changed_at: day.changedAt,
    next_at: day.nextAt,
    acknowledged_by: day.acknowledgedBy,
    acknowledged_at: day.acknowledgedAt,
    comment: day.comment,
  }
}
