// The rows of the audit trail and the two signed points of their chain. Nothing here judges or signs: audit/ does.

import { sql } from 'kysely'
import type { AuditAction, AuditOutcome, AuditSubject, AuditVia } from '../contract/audit.ts'
import { batches } from './database/batches.ts'
import type { Db, Dialect, Tx } from './database/store.ts'
import { hot } from './database/prepared-queries.ts'
import type { AuditRow, Tables } from './database/tables.ts'

export type AuditRecord = {
  id: string
  at: number
  node: string
  who: string | null
  via: AuditVia
  tokenId: string | null
  address: string | null
  action: AuditAction
  outcome: AuditOutcome
  subjectKind: AuditSubject | null
  subject: string | null
  channelCode: string | null
  /** JSON, as it was written. */
  detail: string
  mac: string
  seq: number | null
  hash: string | null
}

export type SignedPoint = { seq: number; hash: string; at: number; signature: string }
export type PointName = 'last' | 'start'

export async function insertAudit(tx: Tx, records: readonly AuditRecord[]): Promise<void> {
  for (const some of batches(records)) await tx.insertInto('audit').values(some.map(toRow)).execute()
}

const open = hot<{ limit: number }, AuditRow>((db, arg) =>
  db.selectFrom('audit').selectAll().where('seq', 'is', null).orderBy('id').limit(arg('limit')),
)

/** Rows that are not in the chain yet, in the order of writing. */
export async function openAudit(db: Db, limit: number): Promise<AuditRecord[]> {
  return (await open(db, { limit })).map(toRecord)
}

/** Gives rows their places. Their text is written as it was read: whoever changed one meanwhile does not get through. */
export async function chainAudit(tx: Tx, records: readonly AuditRecord[]): Promise<void> {
  for (const some of batches(records))
    await tx
      .insertInto('audit')
      .values(some.map(toRow))
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet((eb) => ({
          mac: eb.ref('excluded.mac'),
          seq: eb.ref('excluded.seq'),
          hash: eb.ref('excluded.hash'),
        })),
      )
      .execute()
}

/** One at a time puts rows into the chain, on however many nodes. */
export async function lockChain(tx: Tx, dialect: Dialect): Promise<void> {
  // Any number that nothing else in this database uses: the first time there is no row to lock.
  if (dialect.rowLocks) await sql`select pg_advisory_xact_lock(${0x41554449})`.execute(tx)
}

export async function auditPoint(db: Db, name: PointName): Promise<SignedPoint | undefined> {
  const row = await db.selectFrom('audit_head').selectAll().where('name', '=', name).executeTakeFirst()
  return row && { seq: row.seq, hash: row.hash, at: row.at, signature: row.signature }
}

export async function putAuditPoint(tx: Tx, name: PointName, point: SignedPoint): Promise<void> {
  const row = { name, ...point }
  await tx
    .insertInto('audit_head')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
    .execute()
}

/** The chain after that place, in order. */
export async function chainAfter(db: Db, seq: number, limit: number): Promise<AuditRecord[]> {
  const rows = await db
    .selectFrom('audit')
    .selectAll()
    .where('seq', 'is not', null)
    .where('seq', '>', seq)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map(toRecord)
}

/** The lowest and the highest place that a row has. */
export async function chainBounds(db: Db): Promise<{ lowest: number; highest: number } | undefined> {
  const end = (order: 'asc' | 'desc') =>
    db
      .selectFrom('audit')
      .select('seq')
      .where('seq', 'is not', null)
      .orderBy('seq', order)
      .limit(1)
      .executeTakeFirst()
  const [lowest, highest] = [await end('asc'), await end('desc')]
  return lowest && highest && { lowest: lowest.seq ?? 0, highest: highest.seq ?? 0 }
}

export async function removeChainUpTo(tx: Tx, seq: number): Promise<void> {
  await tx.deleteFrom('audit').where('seq', 'is not', null).where('seq', '<=', seq).execute()
}

export async function findAuditRows(db: Db, ids: readonly string[]): Promise<AuditRecord[]> {
  const rows: AuditRow[] = []
  for (const some of batches(ids))
    rows.push(...(await db.selectFrom('audit').selectAll().where('id', 'in', some).execute()))
  return rows.map(toRecord)
}

// Searching

export type AuditFilter = {
  who?: string | undefined
  action?: AuditAction | undefined
  outcome?: AuditOutcome | undefined
  subjectKind?: AuditSubject | undefined
  subject?: string | undefined
  channelCode?: string | undefined
  address?: string | undefined
  from?: number | undefined
  before?: number | undefined
}

export type AuditWalk = { order: 'asc' | 'desc'; beyond?: string | undefined; limit: number }

/**
 * Rows in the order of writing or against it, beyond one of them. Whichever filter has an index leads; ids begin with
 * the time, so a span of time is a span of ids.
 */
export async function walkAudit(db: Db, filter: AuditFilter, walk: AuditWalk): Promise<AuditRecord[]> {
  let query = db.selectFrom('audit').selectAll().orderBy('id', walk.order).limit(walk.limit)
  if (walk.beyond !== undefined) query = query.where('id', walk.order === 'desc' ? '<' : '>', walk.beyond)
  if (filter.from !== undefined) query = query.where('id', '>=', idAt(filter.from))
  if (filter.before !== undefined) query = query.where('id', '<', idAt(filter.before))
  if (filter.who !== undefined) query = query.where('who', '=', filter.who)
  if (filter.action !== undefined) query = query.where('action', '=', filter.action)
  if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome)
  if (filter.subjectKind !== undefined) query = query.where('subject_kind', '=', filter.subjectKind)
  if (filter.subject !== undefined) query = query.where('subject', '=', filter.subject)
  if (filter.channelCode !== undefined) query = query.where('channel_code', '=', filter.channelCode)
  if (filter.address !== undefined) query = query.where('address', '=', filter.address)
  return (await query.execute()).map(toRecord)
}

/** Before every id made at that time or later. */
function idAt(at: number): string {
  const hex = Math.max(0, at).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}

function toRecord(row: AuditRow): AuditRecord {
  return {
    id: row.id,
    at: row.at,
    node: row.node,
    who: row.who,
    via: row.via as AuditVia, // closed lists, written by toRow alone
    tokenId: row.token_id,
    address: row.address,
    action: row.action as AuditAction,
    outcome: row.outcome as AuditOutcome,
    subjectKind: row.subject_kind as AuditSubject | null,
    subject: row.subject,
    channelCode: row.channel_code,
    detail: row.detail,
    mac: row.mac,
    seq: row.seq,
    hash: row.hash,
  }
}

function toRow(record: AuditRecord): Tables['audit'] {
  return {
    id: record.id,
    at: record.at,
    node: record.node,
    who: record.who,
    via: record.via,
    token_id: record.tokenId,
    address: record.address,
    action: record.action,
    outcome: record.outcome,
    subject_kind: record.subjectKind,
    subject: record.subject,
    channel_code: record.channelCode,
    detail: record.detail,
    mac: record.mac,
    seq: record.seq,
    hash: record.hash,
  }
}
