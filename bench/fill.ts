// Fills a database for the benchmarks, as fast as it takes: raw rows in big statements, one transaction, positions
// dense as the store keeps them.

import { sql } from 'kysely'
import { makeSeal } from '../src/store/seal.ts'
import type { Seal } from '../src/store/seal.ts'
import type { Store, Tx } from '../src/store/database/store.ts'
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

export const CHANNEL = 'BANCO-ACME-NOMINA'
export const FIRST_AT = Date.UTC(2026, 0, 1)
const BATCH = 400
const MINUTE_MS = 60_000

/** One administrator, one partner and the channel that has the transfers. */
export async function fillPlatform(store: Store, seal: Seal = makeSeal('0'.repeat(32))): Promise<void> {
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
  const seal = makeSeal('0'.repeat(32))
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
    const { transfer, file } = await template(tx, channelCode)
    if (store.dialect.name === 'postgres') await multiply(tx, { transfer, file }, { from, to, filesEach })
    else
      for (let at = from; at < to; at += BATCH) {
        const numbers = Array.from({ length: Math.min(BATCH, to - at) }, (_, index) => at + index + 1)
        await tx
          .insertInto('transfer')
          .values(numbers.map((number) => transferRow(transfer, number)))
          .execute()
        for (let index = 0; index < filesEach; index++)
          await tx
            .insertInto('transfer_file')
            .values(numbers.map((number) => fileRow(file, number, index)))
            .execute()
      }
    await tx
      .updateTable('channel_state')
      .set({ transfer_count: to })
      .where('code', '=', channelCode)
      .execute()
  })
}

/** The same rows, made by the server from the first one: a million then need no thousand statements over the line. */
async function multiply(
  tx: Tx,
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
  const id = sql`${idOf(0).slice(0, -12)}::text || lpad(n::text, 12, '0')`
  const later = sql`(n - ${first}::bigint) * ${MINUTE_MS}::bigint`
  const numbers = sql`generate_series(${first + 1}::bigint, ${to}::bigint) n`
  const other = (text: string) =>
    sql`replace(f.${sql.ref(text)}, ${digits(first)}::text, lpad(n::text, 8, '0'))`
  await sql`insert into transfer select (jsonb_populate_record(t, jsonb_build_object('id', ${id}, 'position', n,
      'requested_at', t.requested_at + ${later}, 'started_at', t.started_at + ${later},
      'ended_at', t.ended_at + ${later}, 'listed_at', t.listed_at + ${later}))).*
    from transfer t, ${numbers} where t.id = ${idOf(first)}`.execute(tx)
  await sql`insert into transfer_file select (jsonb_populate_record(f, jsonb_build_object('transfer_id', ${id},
      'name', ${other('name')}, 'path', ${other('path')}, 'path_post', ${other('path_post')}, 'hash', ${other('hash')},
      'name_key', '\\x' || encode(convert_to(lower(${other('name')}), 'UTF8'), 'hex')))).*
    from transfer_file f, ${numbers} where f.transfer_id = ${idOf(first)}`.execute(tx)
}

/** The rows as the store itself writes them, taken away again. */
async function template(
  tx: Tx,
  channelCode: string,
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
  await insertTransfer(tx, { ...made, now: FIRST_AT, files: [file] })
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
