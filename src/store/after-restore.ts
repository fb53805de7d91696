// What a restored database must be told before a node works on it: who ran what is over, paths may begin otherwise, and
// whatever the database before it still knows (if it can be read) is brought over: memories against duplicates, ends of
// transfers, and what was still open. Events and expectations have modules of their own.

import { sql } from 'kysely'
import type { TransferStatus } from '../contract/transfer.ts'
import { batches } from './database/batches.ts'
import { columnsThere } from './database/set-aside.ts'
import { loadRows, rowsOf } from './database/snapshot.ts'
import type { Row } from './database/snapshot.ts'
import type { Db, Dialect, Tx } from './database/store.ts'
import type { Tables, TransferFileRow, TransferRow } from './database/tables.ts'
import { moveTransfer } from './transfers/transfers.ts'
import { isActive } from './transfers/active.ts'

/** The database that the restored one takes the place of. */
export type Before = {
  db: Db
  dialect: Dialect
  /** Which it has: it may be of another version. */
  tables: ReadonlySet<string>
  /** A table's name as raw SQL must say it. */
  nameOf(table: string): string
}

/**
 * Whether it is what the database of the backup became, and so knows what was done since. One that a new machine has
 * begun knows nothing, and neither does one that is older than the backup: the end of the restored trail tells them apart.
 */
export async function goesOnFrom(tx: Tx, { db, tables }: Before): Promise<boolean> {
  if (!tables.has('audit')) return false
  const newest = await tx.selectFrom('audit').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst()
  if (!newest) return false
  return (
    (await db.selectFrom('audit').select('id').where('id', '=', newest.id).executeTakeFirst()) !== undefined
  )
}

/**
 * Whether it was itself restored from a backup since, so that it does not know all that was done before that. To be asked
 * before the trail is brought over.
 */
export async function restoredSince(tx: Tx, { db }: Before): Promise<boolean> {
  const ids = async (from: Db) =>
    (await from.selectFrom('audit').select('id').where('action', '=', 'BACKUP_RESTORED').execute()).map(
      ({ id }) => id,
    )
  const known = new Set(await ids(tx))
  return (await ids(db)).some((id) => !known.has(id))
}

/** No engine of the time of the backup is alive. */
export async function forgetEngines(tx: Tx): Promise<void> {
  await tx.deleteFrom('sign_of_life').execute()
  await tx.updateTable('transfer').set({ lease_owner: null, lease_until: null }).where(isActive).execute()
  await tx.updateTable('automation_run').set({ held_by: null, held_until: 0 }).execute()
}

/** The data folder was elsewhere. */
export async function movePaths(tx: Tx, from: string, to: string): Promise<void> {
  const inside = `${from}/`
  for (const [table, column, which = '1 = 1'] of [
    ['partial_file', 'path'],
    ['outbox_file', 'path'],
    ['transfer_file', 'staged_path'],
    ['quarantined_file', 'path'],
    ['quarantined_file', 'opened_path'],
    // Others lie in outbound directories, which stay where they are, also where those are inside the data folder.
    ['held_file', 'path', 'outbox_id is not null'],
  ] as const) {
    const path = sql.ref(column)
    await sql`update ${sql.table(table)} set ${path} = ${`${to}/`} || substr(${path}, ${inside.length + 1})
      where substr(${path}, 1, ${inside.length}) = ${inside} and ${sql.raw(which)}`.execute(tx)
  }
}

/** The memories of channels that both databases have, where the restored one lacks them, and the trail. */
export async function bringOver(tx: Tx, before: Before): Promise<void> {
  const codes = await idsOf(tx, 'channel')
  for (const table of ['sent_file', 'received_file'] as const)
    for await (const rows of rowsOf(before.db, before.dialect, before.nameOf(table)))
      for (const some of batches(rows.filter((row) => codes.has(String(row.channel_code)))))
        await tx
          .insertInto(table)
          .values(some.map((row) => only(row, MEMORY[table])) as never) // rows of the very same table
          .onConflict((conflict) => conflict.doNothing())
          .execute()
  if (before.tables.has('audit')) await bringAudit(tx, before)
}

const MEMORY = {
  sent_file: ['channel_code', 'name', 'hash', 'size'],
  received_file: ['channel_code', 'key_name', 'key_date', 'key_time', 'transfer_id', 'size', 'wire_hash'],
} as const

/** A newer database may have columns that this program does not know, an older one may lack some. */
export function only(row: Row, columns: Iterable<string>): Row {
  return Object.fromEntries([...columns].flatMap((name) => (name in row ? [[name, row[name]]] : [])))
}

/** Tables of which the rows of the database before are taken, and whose they are. What is quarantined outlives its channel. */
const OPEN_ENDS = {
  owed_receipt: 'contact',
  outbox_file: 'channel',
  held_file: 'channel',
  quarantined_file: undefined,
  key_proposal: 'contact',
} as const

type OpenEnds = Pick<Tables, keyof typeof OPEN_ENDS>

/**
 * The rows of the database before take the place of those of the backup, each as `change` says; without an answer a row
 * is left out. So are those of channels and contacts that the backup does not have, and columns that this program does
 * not know.
 */
export async function takeOver<T extends keyof OpenEnds>(
  tx: Tx,
  before: Before,
  table: T,
  change: (row: OpenEnds[T]) => OpenEnds[T] | undefined | Promise<OpenEnds[T] | undefined>,
): Promise<void> {
  if (!before.tables.has(table)) return
  const owner = OPEN_ENDS[table]
  const owners = owner && (await idsOf(tx, owner))
  const columns = await columnsThere(tx, before.dialect, table)
  await tx.deleteFrom(table).execute()
  for await (const rows of rowsOf(before.db, before.dialect, before.nameOf(table))) {
    const taken: Row[] = []
    for (const row of rows) {
      if (owners && !owners.has(String(owner === 'contact' ? row.contact_id : row.channel_code))) continue
      const changed = await change(only(row, columns) as OpenEnds[T]) // a row of the very same table
      if (changed) taken.push(changed)
    }
    await loadRows(tx, table, taken)
  }
}

async function idsOf(tx: Tx, owner: 'contact' | 'channel'): Promise<Set<string>> {
  if (owner === 'contact')
    return new Set((await tx.selectFrom('contact').select('id').execute()).map(({ id }) => id))
  return new Set((await tx.selectFrom('channel').select('code').execute()).map(({ code }) => code))
}

/** Of the partners' keys, those that had been accepted when the backup was made. */
export async function acceptedKeys(tx: Tx): Promise<Set<string>> {
  const rows = await tx.selectFrom('key_proposal').select('id').where('accepted_at', 'is not', null).execute()
  return new Set(rows.map(({ id }) => id))
}

export type QuarantinedPaths = Pick<Tables['quarantined_file'], 'path' | 'opened_path'>

export function quarantinedFiles(tx: Tx): Promise<QuarantinedPaths[]> {
  return tx.selectFrom('quarantined_file').select(['path', 'opened_path']).execute()
}

/** What the database before knows of a file that it has laid ready. */
export function laidFile(
  { db }: Before,
  { transfer_id, idx }: LaidFile,
): Promise<Pick<TransferFileRow, 'receipt' | 'hash'> | undefined> {
  return db
    .selectFrom('transfer_file')
    .select(['receipt', 'hash'])
    .where('transfer_id', '=', transfer_id)
    .where('idx', '=', idx)
    .executeTakeFirst()
}

export type LaidFile = Tables['outbox_file']

export async function hasTransfer(tx: Tx, { transfer_id: id }: LaidFile): Promise<boolean> {
  return (await tx.selectFrom('transfer').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
}

/**
 * The copy that lay ready is lost: it does not count as sent, and there is nothing to hold. Where nobody knows its hash any
 * more, none of its name and size does.
 */
export async function forgetLaid(tx: Tx, row: LaidFile, hash: string | null): Promise<void> {
  await tx
    .deleteFrom('sent_file')
    .where('channel_code', '=', row.channel_code)
    .where('name', '=', row.name)
    .where('size', '=', row.size)
    .$if(hash !== null, (query) => query.where('hash', '=', hash ?? ''))
    .execute()
  await tx.deleteFrom('outbox_file').where('id', '=', row.id).execute()
  await tx.deleteFrom('held_file').where('outbox_id', '=', row.id).execute()
}

/** Retention takes rows of what partners have taken away with their transfer; those without one would stay for ever. */
export async function forgetTakenOfUnknown(tx: Tx): Promise<void> {
  const undecided = tx
    .selectFrom('held_file')
    .select('outbox_id')
    .where('outbox_id', 'is not', null)
    .where('dropped_at', 'is', null)
    .$narrowType<{ outbox_id: string }>()
  await tx
    .deleteFrom('outbox_file')
    .where('taken_at', 'is not', null)
    .where('transfer_id', 'not in', tx.selectFrom('transfer').select('id'))
    .where('id', 'not in', undecided)
    .execute()
}

/** The trail that is there is the beginning of the one that was: all of it is taken, with its signed points. */
async function bringAudit(tx: Tx, before: Before): Promise<void> {
  for (const table of ['audit', 'audit_head'] as const) {
    await tx.deleteFrom(table).execute()
    for await (const rows of rowsOf(before.db, before.dialect, before.nameOf(table)))
      await loadRows(tx, table, rows)
  }
}

const REACHED = ['fence', 'attempts', 'due_at', 'receipts_until', 'snapshot'] as const
const FILE_REACHED = [
  'idx',
  'size',
  'hash',
  'phase',
  'position',
  'staged_path',
  'wire_hash',
  'receipt',
  'receipt_reason',
  'receipt_at',
  'action_post',
  'path_post',
] as const

export type KnownTransfer = {
  row: Pick<
    TransferRow,
    (typeof REACHED)[number] | 'state' | 'started_at' | 'ended_at' | 'error' | 'error_code'
  >
  files: Pick<TransferFileRow, (typeof FILE_REACHED)[number]>[]
}

export async function knownBefore({ db }: Before, id: string): Promise<KnownTransfer | undefined> {
  const row = await db
    .selectFrom('transfer')
    .select([...REACHED, 'state', 'started_at', 'ended_at', 'error', 'error_code'])
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) return undefined
  const files = db.selectFrom('transfer_file').select(FILE_REACHED).where('transfer_id', '=', id)
  return { row, files: await files.execute() }
}

/** A transfer that was active at the time of the backup gets as far as it is known to have got since. */
export async function catchUp(tx: Tx, id: string, { row, files }: KnownTransfer): Promise<void> {
  const { state, started_at, ended_at, error, error_code, ...reached } = row
  let { state: from } = await tx
    .selectFrom('transfer')
    .select('state')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const move = (to: TransferStatus, now: number) => {
    const failed = error === null ? {} : { error: { message: error, code: error_code ?? 'internal' } }
    return moveTransfer(tx, id, { from: from as TransferStatus, to, now, ...failed }) // closed lists, written by us
  }
  await tx.updateTable('transfer').set(reached).where('id', '=', id).execute()
  for (const file of files)
    await tx
      .updateTable('transfer_file')
      .set(file)
      .where('transfer_id', '=', id)
      .where('idx', '=', file.idx)
      .execute()
  if (from === 'PENDING' && started_at !== null) {
    await move('IN_PROGRESS', started_at)
    from = 'IN_PROGRESS'
  }
  if (state !== from) await move(state as TransferStatus, ended_at ?? started_at ?? 0)
}

/** Half files by their paths; those whose file is gone or too short are forgotten by `forgetHalfFile`. */
export function halfFiles(db: Db): Promise<{ path: string; position: number }[]> {
  return db.selectFrom('partial_file').select(['path', 'position']).execute()
}

export async function forgetHalfFile(tx: Tx, path: string): Promise<void> {
  await tx.deleteFrom('partial_file').where('path', '=', path).execute()
}

/** Whether a transfer that the restored database does not have took that file as it lies there. */
export async function takenSince(
  before: Before,
  channelCode: string,
  file: { path: string; size: number; modifiedAt: number },
  since: number,
): Promise<boolean> {
  const row = await before.db
    .selectFrom('transfer')
    .innerJoin('transfer_file', 'transfer_file.transfer_id', 'transfer.id')
    .select('transfer.id')
    .where('transfer.channel_code', '=', channelCode)
    .where('transfer.requested_at', '>=', since)
    .where('transfer.state', '!=', 'CANCELLED')
    .where('transfer_file.path', '=', file.path)
    .where('transfer_file.size', '=', file.size)
    .where('transfer_file.modified_at', '=', file.modifiedAt)
    .executeTakeFirst()
  return row !== undefined
}

export async function hasChannels(db: Db): Promise<boolean> {
  return (await db.selectFrom('channel').select('code').limit(1).executeTakeFirst()) !== undefined
}

/** Transfers whose fate a person must decide: neither retried nor reset since the restore. */
export async function undecidedTransfers(
  db: Db,
): Promise<{ id: string; channelCode: string; direction: string; files: number }[]> {
  const rows = await db
    .selectFrom('transfer')
    .select(['id', 'channel_code', 'direction'])
    .select((eb) =>
      eb
        .selectFrom('transfer_file')
        .whereRef('transfer_file.transfer_id', '=', 'transfer.id')
        .select((count) => count.fn.countAll<number>().as('files'))
        .as('files'),
    )
    .where('state', '=', 'FAILED')
    .where('settled', '=', 0)
    .where('error_code', '=', 'restored')
    .where('direction', '=', 'EMISION')
    .orderBy('channel_code')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    channelCode: row.channel_code,
    direction: row.direction,
    files: Number(row.files),
  }))
}
