// Entries as lines of a file: JSON with everything that was hashed, so that whoever has the head and the public key can
// check it elsewhere; or CSV for a table.

import { csvLine } from '../domain/csv.ts'
import { showTime } from '../domain/time.ts'
import type { Zone } from '../domain/time.ts'
import { auditPoint } from '../store/audit.ts'
import type { AuditRecord, SignedPoint } from '../store/audit.ts'
import type { Db } from '../store/database/store.ts'
import type { AuditKeys } from './keys.ts'
import { chainOf } from './read-trail.ts'

type Rows = AsyncIterable<AuditRecord>

export async function* jsonLines(rows: Rows): AsyncGenerator<string> {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`
}

type PointLine = { point: 'start' | 'last'; publicKey?: string } & SignedPoint

/** The chain between its two signed points, each a line too: what can be checked elsewhere. */
export async function* wholeTrail(db: Db, keys: AuditKeys): AsyncGenerator<string> {
  const line = (point: PointLine) => `${JSON.stringify(point)}\n`
  const start = await auditPoint(db, 'start')
  const last = await auditPoint(db, 'last')
  if (start) yield line({ point: 'start', ...start })
  yield* jsonLines(chainOf(db, start?.seq ?? 0, last?.seq ?? 0))
  if (last) yield line({ point: 'last', ...last, publicKey: keys.publicKey })
}

export type TrailFile = {
  start: SignedPoint | undefined
  last: SignedPoint | undefined
  publicKey: string | undefined
  rows: AuditRecord[]
}

export async function readLines(lines: AsyncIterable<string>): Promise<TrailFile> {
  const file: TrailFile = { start: undefined, last: undefined, publicKey: undefined, rows: [] }
  for await (const line of lines) {
    if (line.trim() === '') continue
    const value = JSON.parse(line) as AuditRecord | PointLine // whatever else it is does not verify
    if (!('point' in value)) file.rows.push(value)
    else {
      file[value.point] = value
      file.publicKey ??= value.publicKey
    }
  }
  return file
}

const COLUMNS = [
  'seq',
  'at',
  'node',
  'who',
  'via',
  'tokenId',
  'address',
  'action',
  'outcome',
  'subjectKind',
  'subject',
  'channelCode',
  'detail',
  'id',
] as const satisfies (keyof AuditRecord)[]

export async function* csvLines(rows: Rows, zone: Zone): AsyncGenerator<string> {
  yield csvLine(COLUMNS)
  for await (const row of rows)
    yield csvLine(COLUMNS.map((name) => (name === 'at' ? showTime(row.at, zone) : String(row[name] ?? ''))))
}
