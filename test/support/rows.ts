// All rows of all tables, for tests that must see that nothing changed.

import { sql } from 'kysely'
import { readdirSync, readFileSync } from 'node:fs'
import type { Store } from '../../src/store/database/store.ts'
import type { Tables } from '../../src/store/database/tables.ts'

const FOLDER = new URL('../../src/store/migrations/', import.meta.url)
const FILES = readdirSync(FOLDER).sort()

/** Every table that the migrations make. */
export const TABLE_NAMES = FILES.map((file) => readFileSync(new URL(file, FOLDER), 'utf8')).flatMap((text) =>
  [...text.matchAll(/create table (\w+)/g)].map((match) => match[1] as keyof Tables),
)

/** What was refused is told and counted there: those rows come, and nothing else may. */
const TOLD: readonly string[] = ['audit', 'audit_head', 'login_failure', 'login_lock']

/** Everything that there is. Most tables are empty: which are not is asked at once, of all of them. */
export async function everyRow({ db }: Store): Promise<Record<string, string[]>> {
  const anyIn = TABLE_NAMES.map((name) => sql`exists(select 1 from ${sql.table(name)}) as ${sql.ref(name)}`)
  const [filled] = (await sql<Record<string, unknown>>`select ${sql.join(anyIn)}`.execute(db)).rows
  const dump: Record<string, string[]> = {}
  for (const table of TABLE_NAMES) {
    const rows = filled?.[table] ? await db.selectFrom(table).selectAll().execute() : []
    dump[table] = rows.map((row) => JSON.stringify(row)).sort()
  }
  return dump
}

/** The same without what tells and counts refusals. */
export async function allRows(store: Store): Promise<Record<string, string[]>> {
  const tables = Object.entries(await everyRow(store)).filter(([name]) => !TOLD.includes(name))
  return Object.fromEntries(
    tables.map(([name, rows]) => [name, rows.filter((row) => !row.includes('"login.refused"'))]),
  )
}
