// File names as they are searched: lower case, in octets. Rows of a version that did not write them, and those from
// before, are filled in little by little.

import { sql } from 'kysely'
import { setTimeout as delay } from 'node:timers/promises'
import type { Db, Store, Tx } from '../database/store.ts'

export function nameKey(name: string): Buffer {
  return Buffer.from(name.normalize('NFC').toLowerCase(), 'utf8')
}

/** All keys of names that begin so: from the first, to before the second. */
function keyRange(beginning: string): [from: Buffer, before: Buffer] {
  const from = nameKey(beginning)
  // 0xff stands in no UTF-8 text.
  return [from, Buffer.concat([from, Buffer.of(0xff)])]
}

/** Of files whose name begins so, in no order; one per file. */
export async function transfersWithName(db: Db, beginning: string, limit: number): Promise<string[]> {
  const [from, before] = keyRange(beginning)
  const rows = await db
    .selectFrom('transfer_file')
    .select('transfer_id')
    .where('name_key', 'is not', null)
    .where('name_key', '>=', from)
    .where('name_key', '<', before)
    .limit(limit)
    .execute()
  return rows.map((row) => row.transfer_id)
}

export async function transfersWithHash(db: Db, hash: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('transfer_file')
    .select('transfer_id')
    .where('hash', '=', hash)
    .orderBy('transfer_id', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => row.transfer_id)
}

export async function namesOf(db: Db, ids: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await db
    .selectFrom('transfer_file')
    .select(['transfer_id', 'name'])
    .where('transfer_id', 'in', ids)
    .execute()
  const names = new Map<string, string[]>()
  for (const row of rows) {
    const some = names.get(row.transfer_id)
    if (some) some.push(row.name)
    else names.set(row.transfer_id, [row.name])
  }
  return names
}

const GROUP = 500
const PAUSE_MS = 20

/** All that are open, with room for others between the groups. */
export async function fillAllNameKeys(store: Store, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await fillNameKeys(store)))
    await delay(PAUSE_MS, undefined, { signal }).catch(() => {})
}

/** False: there is nothing left to fill in. */
export async function fillNameKeys(store: Store): Promise<boolean> {
  const open = await unnamed(store.db)
  if (open.length === 0) return false
  await store.write(async (tx) => {
    for (const row of open) await fill(tx, row)
  })
  return true
}

async function unnamed(db: Db) {
  return db
    .selectFrom('transfer_file')
    .select(['transfer_id', 'idx', 'name'])
    .where(sql<boolean>`name_key is null`)
    .orderBy('transfer_id', 'desc')
    .limit(GROUP)
    .execute()
}

async function fill(tx: Tx, row: { transfer_id: string; idx: number; name: string }): Promise<void> {
  await tx
    .updateTable('transfer_file')
    .set({ name_key: nameKey(row.name) })
    .where('transfer_id', '=', row.transfer_id)
    .where('idx', '=', row.idx)
    .where('name', '=', row.name)
    .execute()
}
