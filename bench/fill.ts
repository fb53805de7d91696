// Fills a database for the benchmarks, as fast as it takes: raw rows in big statements, one transaction, positions
// dense as the store keeps them.

import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { makeSeal } from '../src/store/seal.ts'
import type { Seal } from '../src/store/seal.ts'
import type { Dialect, Store, Tx } from '../src/store/database/store.ts'
import { insertChannels, sealChannel } from '../src/store/channels.ts'
import { putAccount } from '../src/store/accounts.ts'
import { putContact, putLocalEntity } from '../src/store/contacts.ts'
import { channelAccessChanged } from '../src/store/channel-access.ts'
import type { TransferFileRecord } from '../src/domain/transfer.ts'
import type { TransferFileRow, TransferRow } from '../src/store/database/tables.ts'
import { nameKey } from '../src/store/transfers/file-names.ts'
import { insertTransfer } from '../src/store/transfers/transfers.ts'
import { newFile } from '../src/transfers/request.ts'
import { accountOf, contactOf, fullChannel } from '../test/support/seed.ts'

export const MASTER_KEY = '0'.repeat(32)

/** Of a node in a process of its own, on what was filled with that key. */
export function nodeSettings(dataDir: string, databaseUrl?: string): Record<string, string> {
  return {
    ESCLUSA_DATA_DIR: dataDir,
    ESCLUSA_PORT: '0',
    ESCLUSA_MASTER_KEY: MASTER_KEY,
    ESCLUSA_LOG_LEVEL: 'error',
    ...(databaseUrl && { ESCLUSA_DATABASE_URL: databaseUrl }),
  }
}

export const CHANNEL = 'BANCO-ACME-NOMINA'
/** A million of them, a minute apart, lie in the past: among transfers of the future a new one is not the newest. */
export const FIRST_AT = Date.UTC(2024, 0, 1)
const MINUTE_MS = 60_000

/** One administrator, one partner and the channel that has the transfers. */
export async function fillPlatform(store: Store, seal: Seal = makeSeal(MASTER_KEY)): Promise<void> {
  await store.write(async (tx) => {
    await putAccount(tx, accountOf('globaladmin', null))
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco Azul', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', []))
    await insertChannels(tx, [channelRecord(seal, CHANNEL, 0)])
    await channelAccessChanged(tx)
  })
}

function channelRecord(seal: Seal, code: string, number: number) {
  const application = code.slice(code.lastIndexOf('-') + 1)
  const channel = { ...fullChannel('/srv/files'), application }
  const id = `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`
  return {
    code,
    id,
    contactId: 'acme',
    localCode: 'BANCO',
    alias: null,
    automation: null,
    revision: 1,
    ...sealChannel(seal, code, channel),
  }
}

export async function fillChannels(store: Store, from: number, to: number): Promise<void> {
  const seal = makeSeal(MASTER_KEY)
  const records = Array.from({ length: to - from }, (_, index) =>
    channelRecord(seal, `BANCO-ACME-A${String(from + index).padStart(6, '0')}`, from + index + 1),
  )
  await store.write(async (tx) => {
    await insertChannels(tx, records)
    await channelAccessChanged(tx)
  })
}

/** Transfers number from+1 to `to` of the channel, one a minute, all completed, with so many files each. */
export async function fillTransfers(
  store: Store,
  from: number,
  to: number,
  filesEach = 1,
  channelCode = CHANNEL,
): Promise<void> {
  await store.write(async (tx) => {
    const rows = await template(tx, channelCode, from)
    const fill = () => multiply(tx, store.dialect.name, rows, { from, to, filesEach })
    if (store.dialect.name === 'postgres') await withoutIndexes(tx, fill)
    else await fill()
    await tx
      .updateTable('channel_state')
      .set({ transfer_count: to })
      .where('code', '=', channelCode)
      .execute()
  })
}

/** PostgreSQL makes an index of ten million rows in a fraction of the time that it takes to enter them one by one. */
async function withoutIndexes(tx: Tx, fill: () => Promise<void>): Promise<void> {
  const { rows } = await sql<{
    name: string
    made: string
  }>`select indexname as name, indexdef as made from pg_indexes
    where schemaname = current_schema() and tablename in ('transfer', 'transfer_file') and indexdef like 'CREATE INDEX%'`.execute(
    tx,
  )
  for (const { name } of rows) await sql`drop index ${sql.ref(name)}`.execute(tx)
  // References are not checked row by row either.
  await sql`set local session_replication_role = replica`.execute(tx)
  await sql`set local maintenance_work_mem = '512MB'`.execute(tx)
  await fill()
  for (const { made } of rows) await sql.raw(made).execute(tx)
}

/** The first transfer's rows, repeated by the database itself: ten million need no statements of their own. */
async function multiply(
  tx: Tx,
  database: Dialect['name'],
  { transfer, file }: { transfer: TransferRow; file: TransferFileRow },
  { from, to, filesEach }: { from: number; to: number; filesEach: number },
): Promise<void> {
  if (to <= from) return
  const first = from + 1
  await tx.insertInto('transfer').values(transferRow(transfer, first)).execute()
  for (let index = 0; index < filesEach; index++)
    await tx
      .insertInto('transfer_file')
      .values(fileRow(file, first, index))
      .execute()
  const { numbers, padded, octets } = NUMBERS[database]
  const id = sql`${sql.lit(idOf(0).slice(0, -12))} || ${padded(12)}`
  const later = (column: string) => sql`${sql.ref(column)} + (n - ${first}) * ${sql.lit(MINUTE_MS)}`
  const other = (column: string) => sql`replace(${sql.ref(column)}, ${digits(first)}, ${padded(8)})`
  const times = ['requested_at', 'started_at', 'ended_at', 'listed_at']
  const copies: [
    table: string,
    key: string,
    row: object,
    expressions: Record<string, RawBuilder<unknown>>,
  ][] = [
    [
      'transfer',
      'id',
      transfer,
      { id, position: sql`n`, ...Object.fromEntries(times.map((name) => [name, later(name)])) },
    ],
    [
      'transfer_file',
      'transfer_id',
      file,
      {
        transfer_id: id,
        name_key: octets(other('name')),
        ...Object.fromEntries(['name', 'path', 'path_post', 'hash'].map((name) => [name, other(name)])),
      },
    ],
  ]
  for (const [table, key, row, expressions] of copies) {
    const columns = Object.keys(row)
    await sql`insert into ${sql.table(table)} (${sql.join(columns.map((name) => sql.ref(name)))})
      select ${sql.join(columns.map((name) => expressions[name] ?? sql.ref(name)))}
      from ${sql.table(table)}, ${numbers(first + 1, to)} where ${sql.ref(key)} = ${idOf(first)}`.execute(tx)
  }
}

type Numbers = {
  numbers(from: number, to: number): RawBuilder<unknown>
  padded(length: number): RawBuilder<unknown>
  /** As `nameKey` writes it. */
  octets(name: RawBuilder<unknown>): RawBuilder<unknown>
}
const NUMBERS: Record<Dialect['name'], Numbers> = {
  sqlite: {
    numbers: (from, to) =>
      sql`(with recursive count(n) as (select ${from} where ${from} <= ${to} union all select n + 1 from count where n < ${to})
        select n from count)`,
    padded: (length) => sql`printf(${`%0${length}d`}, n)`,
    octets: (name) => sql`cast(lower(${name}) as blob)`,
  },
  postgres: {
    numbers: (from, to) => sql`generate_series(${from}::bigint, ${to}::bigint) n`,
    padded: (length) => sql`lpad(n::text, ${sql.lit(length)}, '0')`,
    octets: (name) => sql`convert_to(lower(${name}), 'UTF8')`,
  },
}

/** The rows as the store itself writes them, taken away again. */
async function template(
  tx: Tx,
  channelCode: string,
  after: number,
): Promise<{ transfer: TransferRow; file: TransferFileRow }> {
  const id = 'template'
  const candidate = { directory: 0, name: 'x', path: '/x', size: 123_456, modifiedAt: FIRST_AT }
  const file: TransferFileRecord = { ...newFile(candidate, 0), keyDate: '20260101', keyTime: '0000000001' }
  const made = {
    id,
    channelCode,
    direction: 'RECEPCION',
    type: 'MANUAL',
    requestedBy: null,
    retryOf: null,
  } as const
  // Newer than all that are there: an older one would move their places in the list.
  await insertTransfer(tx, { ...made, now: FIRST_AT + (after + 1) * MINUTE_MS, files: [file] })
  const rows = {
    transfer: await tx.selectFrom('transfer').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    file: await tx
      .selectFrom('transfer_file')
      .selectAll()
      .where('transfer_id', '=', id)
      .executeTakeFirstOrThrow(),
  }
  await tx.deleteFrom('transfer').where('id', '=', id).execute()
  return rows
}

/** As names and hashes carry it. */
function digits(number: number): string {
  return String(number).padStart(8, '0')
}

function idOf(number: number): string {
  return `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`
}

function transferRow(row: TransferRow, number: number): TransferRow {
  const at = FIRST_AT + number * MINUTE_MS
  return {
    ...row,
    id: idOf(number),
    direction: 'EMISION',
    state: 'COMPLETED',
    requested_at: at,
    started_at: at,
    ended_at: at + 1000,
    listed_at: at,
    position: number,
  }
}

function fileRow(row: TransferFileRow, number: number, idx: number): TransferFileRow {
  const name = `NOM${digits(number)}${idx === 0 ? '' : `-${idx}`}.txt`
  const path = `/srv/files/out/${name}`
  const done = {
    phase: 'DONE',
    hash: digits(number).repeat(8),
    action_post: 'EMISION_MOVE',
    path_post: `/srv/files/done/${name}`,
  }
  return { ...row, ...done, transfer_id: idOf(number), idx, name, path, name_key: nameKey(name) }
}
