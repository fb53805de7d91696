// A database out of a backup: SQLite's file as it is, or tables filled row by row, whichever kind the backup was made of.
// Tables are made by the migrations that the backup names; then the database is brought up to date like any other.

import { readdir } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { applyMigrations, ownMigrations } from '../store/database/migrate.ts'
import type { Migration } from '../store/database/migrate.ts'
import { emptyTables, loadRows, resumeCounting, rowsOf, tablesMadeBy } from '../store/database/snapshot.ts'
import type { Row } from '../store/database/snapshot.ts'
import type { Dialect, Store, Tx } from '../store/database/store.ts'
import type { Manifest } from './manifest.ts'

/** Rows of one table, some at a time. */
export type Source = (table: string) => AsyncIterable<readonly Row[]>

const LINES_AT_ONCE = 2000

export async function loadDatabase(
  tx: Tx,
  dialect: Dialect,
  manifest: Manifest,
  source: Source,
): Promise<void> {
  const all = ownMigrations()
  const had = new Set(manifest.migrations)
  const made: Migration[] = all.filter(({ name }) => had.has(name))
  await applyMigrations(tx, made)
  const tables = tablesMadeBy(made)
  await emptyTables(tx, tables)
  for (const table of tables) for await (const rows of source(table)) await loadRows(tx, table, rows)
  await resumeCounting(tx, dialect, tables)
  await applyMigrations(
    tx,
    all.filter(({ name }) => !had.has(name)),
  )
}

/** From the lines that were unpacked into a folder. */
export function fromLines(folder: string): Source {
  return async function* (table) {
    for (const name of (await readdir(folder)).sort()) {
      if (!name.startsWith(`${table}.`)) continue
      let rows: Row[] = []
      for await (const line of createInterface({ input: createReadStream(join(folder, name)) })) {
        rows.push(JSON.parse(line, withOctets) as Row) // written by us, and checked when it was unpacked
        if (rows.length === LINES_AT_ONCE) {
          yield rows
          rows = []
        }
      }
      yield rows
    }
  }
}

/** Octets are spelled by JSON as an object that says so. No column holds an object otherwise. */
function withOctets(_name: string, value: unknown): unknown {
  return isOctets(value) ? Buffer.from(value.data) : value
}

function isOctets(value: unknown): value is { type: 'Buffer'; data: number[] } {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer'
}

/** From a SQLite database that was unpacked. */
export function fromStore(store: Store): Source {
  return (table) => rowsOf(store.db, store.dialect, table)
}
