// What a list across channels shows of transfers, and their files line by line.

import { sql } from 'kysely'
import { batches } from '../database/batches.ts'
import type { Db } from '../database/store.ts'

export type SummaryRow = {
  id: string
  requestedAt: number
  requestedBy: string | null
  startedAt: number | null
  endedAt: number | null
  error: string | null
  errorCode: string | null
  files: number
  bytes: number
}

export async function summariesOf(db: Db, ids: readonly string[]): Promise<Map<string, SummaryRow>> {
  const found = new Map<string, SummaryRow>()
  for (const some of batches(ids)) {
    const sums = await db
      .selectFrom('transfer_file')
      .select((eb) => [
        'transfer_id',
        eb.fn.countAll<number>().as('files'),
        sql<number>`cast(coalesce(sum(size), 0) as bigint)`.as('bytes'),
      ])
      .where('transfer_id', 'in', some)
      .groupBy('transfer_id')
      .execute()
    const sumOf = new Map(sums.map((row) => [row.transfer_id, row]))
    const rows = await db
      .selectFrom('transfer')
      .select(['id', 'requested_at', 'requested_by', 'started_at', 'ended_at', 'error', 'error_code'])
      .where('id', 'in', some)
      .execute()
    for (const row of rows)
      found.set(row.id, {
        id: row.id,
        requestedAt: row.requested_at,
        requestedBy: row.requested_by,
        startedAt: row.started_at,
        endedAt: row.ended_at,
        error: row.error,
        errorCode: row.error_code,
        files: sumOf.get(row.id)?.files ?? 0,
        bytes: sumOf.get(row.id)?.bytes ?? 0,
      })
  }
  return found
}

/** The first few names of each, in order. */
export async function firstNames(
  db: Db,
  ids: readonly string[],
  most: number,
): Promise<Map<string, string[]>> {
  const names = new Map<string, string[]>()
  for (const some of batches(ids)) {
    const rows = await db
      .selectFrom('transfer_file')
      .select(['transfer_id', 'name'])
      .where('transfer_id', 'in', some)
      .where('idx', '<', most)
      .orderBy('transfer_id')
      .orderBy('idx')
      .execute()
    for (const row of rows) names.set(row.transfer_id, [...(names.get(row.transfer_id) ?? []), row.name])
  }
  return names
}

export type FileLine = {
  name: string
  path: string
  size: number | null
  hash: string | null
}

export async function fileLines(db: Db, ids: readonly string[]): Promise<Map<string, FileLine[]>> {
  const lines = new Map<string, FileLine[]>()
  for (const some of batches(ids)) {
    const rows = await db
      .selectFrom('transfer_file')
      .select(['transfer_id', 'name', 'path', 'size', 'hash'])
      .where('transfer_id', 'in', some)
      .orderBy('transfer_id')
      .orderBy('idx')
      .execute()
    for (const { transfer_id, ...line } of rows) {
      const known = lines.get(transfer_id)
      if (known) known.push(line)
      else lines.set(transfer_id, [line])
    }
  }
  return lines
}
