// The tables that are there go aside, into a schema of their own, so that others can take their names. PostgreSQL alone:
// a SQLite database is a file.

import { sql } from 'kysely'
import type { Db, Dialect, Tx } from './store.ts'

export async function tablesThere(db: Db, dialect: Dialect): Promise<Set<string>> {
  const { rows } = await (
    dialect.name === 'sqlite'
      ? sql<{ name: string }>`select name from sqlite_master where type = 'table'`
      : sql<{ name: string }>`select table_name as name from information_schema.tables
          where table_schema = current_schema() and table_type = 'BASE TABLE'`
  ).execute(db)
  return new Set(rows.map(({ name }) => name))
}

export async function columnsThere(db: Db, dialect: Dialect, table: string): Promise<string[]> {
  const { rows } = await (
    dialect.name === 'sqlite'
      ? sql<{ name: string }>`select name from pragma_table_info(${table})`
      : sql<{ name: string }>`select column_name as name from information_schema.columns
          where table_schema = current_schema() and table_name = ${table}`
  ).execute(db)
  return rows.map(({ name }) => name)
}

/** All of them: the database is this program's own. */
export async function setTablesAside(tx: Tx, dialect: Dialect, schema: string): Promise<Set<string>> {
  const tables = await tablesThere(tx, dialect)
  await sql`create schema ${sql.id(schema)}`.execute(tx)
  for (const name of tables)
    await sql`alter table ${sql.table(name)} set schema ${sql.id(schema)}`.execute(tx)
  return tables
}

export async function isSetAside(db: Db, schema: string): Promise<boolean> {
  const { rows } = await sql`select 1 from information_schema.schemata where schema_name = ${schema}`.execute(
    db,
  )
  return rows.length > 0
}
