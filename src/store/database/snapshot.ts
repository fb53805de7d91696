// The whole database as it is at one moment, while nodes write to it: SQLite's backup interface copies the file, from
// PostgreSQL every table is read inside one REPEATABLE READ transaction. And back again: rows put into tables.

import Database from 'better-sqlite3'
import { sql } from 'kysely'
import type { ControlledTransaction } from 'kysely'
import { join } from 'node:path'
import { batches } from './batches.ts'
import type { Migration } from './migrate.ts'
import type { Db, Dialect, Store, Tx } from './store.ts'
import type { Tables } from './tables.ts'

export type Row = Record<string, unknown>

const ROWS_AT_ONCE = 2000

/** In the order of their making, which is also that of their references. */
export function tablesMadeBy(migrations: readonly Migration[]): string[] {
  return migrations.flatMap(({ text }) =>
    [...text.matchAll(/^create table (\w+)/gm)].map((match) => match[1] ?? ''),
  )
}

/** In one step: nobody who writes meanwhile can make it begin anew, and nobody waits for it. */
export async function copySqlite(dataDir: string, target: string): Promise<void> {
  const database = new Database(join(dataDir, 'esclusa.db'), { timeout: 15_000, fileMustExist: true })
  try {
    await database.backup(target, { progress: () => 2 ** 30 })
  } finally {
    database.close()
  }
}

/** What SQLite itself finds wrong with a file. */
export function sqliteFaults(file: string): string[] {
  const database = new Database(file, { readonly: true, fileMustExist: true })
  try {
    const found = [
      ...(database.pragma('integrity_check') as { integrity_check: string }[]).map(
        (row) => row.integrity_check,
      ),
      ...(database.pragma('foreign_key_check') as { table: string; parent: string }[]).map(
        ({ table, parent }) => `a row of ${table} refers to nothing in ${parent}`,
      ),
    ]
    return found.filter((text) => text !== 'ok')
  } finally {
    database.close()
  }
}

/** Everything that is read in it is as it was at its beginning; whoever asked for it rolls it back. */
export async function beginSnapshot(store: Store): Promise<ControlledTransaction<Tables>> {
  const tx = await store.db.startTransaction().setIsolationLevel('repeatable read').execute()
  // What is read is written to a slow disk: the server must not take the pause for a dead client.
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
  return tx
}

/** All rows of a table, some at a time. */
export function rowsOf(db: Db, dialect: Dialect, table: string): AsyncGenerator<Row[]> {
  return dialect.name === 'sqlite' ? rowsByRowid(db, table) : rowsByCursor(db, table)
}

async function* rowsByCursor(db: Db, table: string): AsyncGenerator<Row[]> {
  await sql`declare backup_rows no scroll cursor for select * from ${sql.table(table)}`.execute(db)
  for (;;) {
    const { rows } = await sql.raw<Row>(`fetch ${ROWS_AT_ONCE} from backup_rows`).execute(db)
    if (rows.length > 0) yield rows
    if (rows.length < ROWS_AT_ONCE) break
  }
  await sql`close backup_rows`.execute(db)
}

async function* rowsByRowid(db: Db, table: string): AsyncGenerator<Row[]> {
  for (let last = 0; ;) {
    const { rows } = await sql<Row & { backup_rowid: number }>`
      select rowid as backup_rowid, * from ${sql.table(table)} where rowid > ${last}
      order by rowid limit ${ROWS_AT_ONCE}`.execute(db)
    if (rows.length === 0) return
    last = rows.at(-1)?.backup_rowid ?? last
    yield rows.map(({ backup_rowid: _rowid, ...row }) => row)
  }
}

/** Makes tables empty that a migration has put something into. */
export async function emptyTables(tx: Tx, tables: readonly string[]): Promise<void> {
  for (const table of tables.toReversed()) await sql`delete from ${sql.table(table)}`.execute(tx)
}

/** Columns that are null are left out: PostgreSQL counts some of them itself. */
export async function loadRows(tx: Tx, table: string, rows: readonly Row[]): Promise<void> {
  const alike = Map.groupBy(rows, (row) => filled(row).join())
  for (const some of alike.values()) {
    const columns = filled(some[0] ?? {})
    for (const batch of batches(some))
      await sql`insert into ${sql.table(table)} (${sql.join(columns.map((name) => sql.ref(name)))}) values ${sql.join(
        batch.map((row) => sql`(${sql.join(columns.map((name) => row[name]))})`),
      )}`.execute(tx)
  }
}

function filled(row: Row): string[] {
  return Object.keys(row).filter((name) => row[name] !== null)
}

/** Numbers that PostgreSQL gives out go on after those that are there. */
export async function resumeCounting(tx: Tx, dialect: Dialect, tables: readonly string[]): Promise<void> {
  if (dialect.name === 'sqlite') return
  const { rows } = await sql<{ table: string; column: string }>`
    select table_name as "table", column_name as "column" from information_schema.columns
    where table_schema = current_schema() and column_default like 'nextval(%'`.execute(tx)
  for (const { table, column } of rows.filter((one) => tables.includes(one.table)))
    await sql`select setval(pg_get_serial_sequence(${table}, ${column}),
      (select coalesce(max(${sql.ref(column)}), 0) + 1 from ${sql.table(table)}), false)`.execute(tx)
}
