// All rows of all tables, for tests that must see that nothing changed.

import { readdirSync, readFileSync } from 'node:fs'
import type { Store } from '../../src/store/database/store.ts'
import type { Tables } from '../../src/store/database/tables.ts'

const FOLDER = new URL('../../src/store/migrations/', import.meta.url)
const FILES = readdirSync(FOLDER).sort()

/** What was refused is told there: those rows come, and nothing else may. */
const TOLD = ['audit', 'audit_head']

/** Every table that the migrations make, but for the audit trail. */
export const TABLE_NAMES = FILES.map((file) => readFileSync(new URL(file, FOLDER), 'utf8')).flatMap((text) =>
  [...text.matchAll(/create table (\w+)/g)]
    .map((match) => match[1] as keyof Tables)
    .filter((name) => !TOLD.includes(name)),
)

export async function allRows(store: Store): Promise<Record<string, string[]>> {
  const dump: Record<string, string[]> = {}
  for (const table of TABLE_NAMES) {
    const rows = await store.db.selectFrom(table).selectAll().execute()
    dump[table] = rows.map((row) => JSON.stringify(row)).sort()
  }
  return dump
}
