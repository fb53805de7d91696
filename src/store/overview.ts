// Reads across all channels. Each uses an index that holds only what is asked for: transfers under way, failures in a
// span of time, counters of an hour. None goes through the whole table of transfers.
//
// The states are part of the statements' text. Only then do both databases see that a partial index can be used.

import { sql } from 'kysely'
import type { Compilable } from 'kysely'
import type { ProtocolName } from '../contract/contact-settings.ts'
import type { TransferDirection, TransferStatus, TransferType } from '../contract/transfer.ts'
import { batches } from './database/batches.ts'
import type { Health } from './partner-health.ts'
import { hot } from './database/prepared-queries.ts'
import type { Arg } from './database/prepared-queries.ts'
import type { Db } from './database/store.ts'

export type UnderWay = {
  id: string
  channelCode: string
  direction: TransferDirection
  state: TransferStatus
}

const underWay = hot<object, { id: string; channel_code: string; direction: string; state: string }>((db) =>
  db
    .selectFrom('transfer')
    .select(['id', 'channel_code', 'direction', 'state'])
    .where(sql<boolean>`state in ('PENDING', 'IN_PROGRESS')`),
)

/** Two per channel at the most. */
export async function transfersUnderWay(db: Db): Promise<UnderWay[]> {
  return (await underWay(db, {})).map((row) => ({
    id: row.id,
    channelCode: row.channel_code,
    direction: row.direction as TransferDirection, // closed lists, written by the store alone
    state: row.state as TransferStatus,
  }))
}

export type ActiveRow = UnderWay & {
  requestedAt: number
  startedAt: number | null
  attempts: number
  bytes: number
  totalBytes: number
  files: number
  totalFiles: number
}

export async function describeActive(db: Db, some: readonly UnderWay[]): Promise<ActiveRow[]> {
  const ids = some.map((one) => one.id)
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('transfer')
    .select(['id', 'requested_at', 'started_at', 'attempts'])
    .where('id', 'in', ids)
    .execute()
  const sums = await db
    .selectFrom('transfer_file')
    .select((eb) => [
      'transfer_id',
      sql<number>`cast(coalesce(sum(case when phase in ('ARRIVED', 'WHOLE', 'PLACED', 'DONE') then coalesce(size, position) else position end), 0) as bigint)`.as(
        'bytes',
      ),
      sql<number>`cast(coalesce(sum(size), 0) as bigint)`.as('total_bytes'),
      sql<number>`cast(sum(case when phase in ('ARRIVED', 'WHOLE', 'PLACED', 'DONE') then 1 else 0 end) as bigint)`.as(
        'done',
      ),
      eb.fn.countAll<number>().as('files'),
    ])
    .where('transfer_id', 'in', ids)
    .groupBy('transfer_id')
    .execute()
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  const sumOf = new Map(sums.map((row) => [row.transfer_id, row]))
  return some.flatMap((one) => {
    const [row, sum] = [rowOf.get(one.id), sumOf.get(one.id)]
    if (!row) return []
    return {
      ...one,
      requestedAt: row.requested_at,
      startedAt: row.started_at,
      attempts: row.attempts,
      bytes: sum?.bytes ?? 0,
      totalBytes: sum?.total_bytes ?? 0,
      files: sum?.done ?? 0,
      totalFiles: sum?.files ?? 0,
    }
  })
}

// Hours

export type HourSums = { completed: number; failed: number; cancelled: number; bytes: number }

const hourRows = hot<{ hour: number }, HourSums & { channel_code: string }>((db, arg) =>
  db
    .selectFrom('transfer_hour')
    .select(['channel_code', 'completed', 'failed', 'cancelled', 'bytes'])
    .where('hour', '=', arg('hour')),
)

/** `hour` counts from 1970; only the channels that `reaches` lets through are in the sums. */
export async function sumHour(db: Db, hour: number, reaches: (code: string) => boolean): Promise<HourSums> {
  const sums = { completed: 0, failed: 0, cancelled: 0, bytes: 0 }
  for (const row of await hourRows(db, { hour })) {
    if (!reaches(row.channel_code)) continue
    sums.completed += row.completed
    sums.failed += row.failed
    sums.cancelled += row.cancelled
    sums.bytes += row.bytes
  }
  return sums
}

// Failures

const MOST_FAILURES = 10_000

type FailedRow = { id: string; channel_code: string; ended_at: number }
type FailedSpan = { from: number; at: number; id: string }

/**
 * Both bounds are pairs: SQLite takes a plain comparison of `ended_at` for a reason to go through all failures that there
 * ever were, by the index of what is over.
 */
export function failedRows(db: Db, arg: Arg<FailedSpan>): Compilable<FailedRow> {
  return db
    .selectFrom('transfer')
    .select(['id', 'channel_code', sql<number>`ended_at`.as('ended_at')])
    .where(sql<boolean>`state = 'FAILED'`)
    .where(sql<boolean>`(ended_at, id) >= (${arg('from')}, '')`)
    .where(sql<boolean>`(ended_at, id) < (${arg('at')}, ${arg('id')})`)
    .orderBy('ended_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MOST_FAILURES)
}
const failedFrom = hot(failedRows)

/** Newest first. Those of channels that are not wanted take no place: they may be many more. */
export async function failuresSince(
  db: Db,
  from: number,
  wants: (channelCode: string) => boolean,
): Promise<{ id: string; channelCode: string }[]> {
  const found: { id: string; channelCode: string }[] = []
  for (let at = Number.MAX_SAFE_INTEGER, id = ''; ;) {
    const rows = await failedFrom(db, { from, at, id })
    for (const row of rows)
      if (wants(row.channel_code) && found.length < MOST_FAILURES)
        found.push({ id: row.id, channelCode: row.channel_code })
    const last = rows.at(-1)
    if (!last || rows.length < MOST_FAILURES || found.length === MOST_FAILURES) return found
    ;({ ended_at: at, id } = last)
  }
}

export type Failure = {
  id: string
  channelCode: string
  direction: TransferDirection
  type: TransferType
  endedAt: number
  error: string | null
  errorCode: string | null
  settled: boolean
}

/** In the order of the ids. */
export async function describeFailures(db: Db, ids: readonly string[]): Promise<Failure[]> {
  const found = new Map<string, Failure>()
  for (const some of batches(ids)) {
    const rows = await db
      .selectFrom('transfer')
      .select(['id', 'channel_code', 'direction', 'type', 'ended_at', 'error', 'error_code', 'settled'])
      .where('id', 'in', some)
      .execute()
    for (const row of rows)
      found.set(row.id, {
        id: row.id,
        channelCode: row.channel_code,
        direction: row.direction as TransferDirection, // closed lists, written by the store alone
        type: row.type as TransferType,
        endedAt: row.ended_at ?? 0,
        error: row.error,
        errorCode: row.error_code,
        settled: row.settled === 1,
      })
  }
  return ids.flatMap((id) => found.get(id) ?? [])
}

/** Why they failed, by id: the words and the code. */
export async function reasonsOf(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('transfer')
    .select(['id', 'error', 'error_code'])
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map((row) => [row.id, `${row.error ?? ''} ${row.error_code ?? ''}`]))
}

// Waiting

export type WaitRow = { dueAt: number; attempts: number; receiptsUntil: number | null }

export async function waitsOf(db: Db, ids: readonly string[]): Promise<Map<string, WaitRow>> {
  const found = new Map<string, WaitRow>()
  for (const some of batches(ids)) {
    const rows = await db
      .selectFrom('transfer')
      .select(['id', 'due_at', 'attempts', 'receipts_until'])
      .where('id', 'in', some)
      .execute()
    for (const row of rows)
      found.set(row.id, { dueAt: row.due_at, attempts: row.attempts, receiptsUntil: row.receipts_until })
  }
  return found
}

/** How these contacts are reached, and until when those that count as down are not called. */
export async function contactsAround(
  db: Db,
  ids: readonly string[],
  failures: number,
): Promise<Map<string, { protocol: ProtocolName; downUntil: number }>> {
  const found = new Map<string, { protocol: ProtocolName; downUntil: number }>()
  for (const some of batches(ids)) {
    const rows = await db
      .selectFrom('contact')
      .leftJoin('partner_health', 'partner_health.contact_id', 'contact.id')
      .select(['contact.id', 'contact.protocol', 'partner_health.failures', 'partner_health.open_until'])
      .where('contact.id', 'in', some)
      .execute()
    for (const row of rows)
      found.set(row.id, {
        protocol: row.protocol as ProtocolName, // a closed list, written by the store alone
        downUntil: (row.failures ?? 0) < failures ? 0 : (row.open_until ?? 0),
      })
  }
  return found
}

// One transfer, and partners

type More = {
  requested_by: string | null
  error_code: string | null
  output: string | null
  comment: string | null
  resend_of: string | null
}
const more = hot<{ id: string }, More>((db, arg) =>
  db
    .selectFrom('transfer')
    .select(['requested_by', 'error_code', 'output', 'comment', 'resend_of'])
    .where('id', '=', arg('id')),
)
const retriedBy = hot<{ id: string }, { id: string }>((db, arg) =>
  db
    .selectFrom('transfer')
    .select('id')
    .where('retry_of', '=', arg('id'))
    .orderBy('requested_at', 'desc')
    .limit(1),
)

export async function moreOfTransfer(db: Db, id: string) {
  const [row] = await more(db, { id })
  const [next] = await retriedBy(db, { id })
  return {
    requestedBy: row?.requested_by ?? null,
    errorCode: row?.error_code ?? null,
    output: row?.output ?? null,
    comment: row?.comment ?? null,
    resendOf: row?.resend_of ?? null,
    retriedBy: next?.id ?? null,
  }
}

/** Partners whose calls failed `failures` times in a row at least, the worst first. */
export async function partnersDown(db: Db, failures: number): Promise<Health[]> {
  const rows = await db
    .selectFrom('partner_health')
    .selectAll()
    .where('failures', '>=', failures)
    .orderBy('failures', 'desc')
    .orderBy('contact_id')
    .execute()
  return rows.map((row) => ({
    contactId: row.contact_id,
    failures: row.failures,
    openUntil: row.open_until,
    error: row.error,
  }))
}
