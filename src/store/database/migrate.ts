// Migrations only go forward: numbered SQL files, each applied once and known by its name. They run under one lock: of
// several nodes that start together, one migrates and the others wait. If it is stopped half-way, the database is as
// before. A database with a migration that this program does not know is newer than the program, and is refused.
//
// Nodes of the version before may run at the same time, until they are replaced. So a migration only adds: tables,
// indexes, columns that may be left out. A migration that removes something says in a line of its own which version no
// longer needs it, `-- requires: 0.2.0`. It is refused while an older node is alive.

import { sql } from 'kysely'
import { readdirSync, readFileSync } from 'node:fs'
import { NodeError } from '../../errors.ts'
import { fromRoot } from '../../root.ts'
import { olderAtWork } from '../transfers/signs-of-life.ts'
import type { Db, Dialect, Store, Tx } from './store.ts'

export type Migration = { name: string; text: string }

const FOLDER = fromRoot('src/store/migrations/')
const LOCK_KEY = 0x45534c55 // any number that no other program uses in this database

export function ownMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({ name, text: readFileSync(new URL(name, FOLDER), 'utf8') }))
}

export async function migrate(
  store: Store,
  migrations: readonly Migration[] = ownMigrations(),
): Promise<void> {
  const before = await appliedNames(store.db).catch(() => new Set<string>()) // the table may not exist yet
  if (missing(migrations, before).length === 0) return
  await store.write(async (tx) => {
    await lockMigrations(tx, store.dialect)
    await makeRecord(tx)
    for (const migration of missing(migrations, await appliedNames(tx))) await apply(tx, migration)
  })
}

/** Until the end of the transaction nobody else changes the schema. */
export async function lockMigrations(tx: Tx, dialect: Dialect): Promise<void> {
  if (dialect.rowLocks) await sql`select pg_advisory_xact_lock(${LOCK_KEY})`.execute(tx)
}

async function makeRecord(tx: Tx): Promise<void> {
  await sql`create table if not exists migration (version integer primary key, name text not null, applied_at bigint not null)`.execute(
    tx,
  )
}

/** For whoever makes a database piece by piece, under `lockMigrations`. */
export async function applyMigrations(tx: Tx, migrations: readonly Migration[]): Promise<void> {
  await makeRecord(tx)
  for (const migration of migrations) await apply(tx, migration)
}

export async function appliedNames(db: Db): Promise<Set<string>> {
  const { rows } = await sql<{ name: string }>`select name from migration`.execute(db)
  return new Set(rows.map(({ name }) => name))
}

/** Those that the database lacks, in their order. */
export function missing(migrations: readonly Migration[], applied: ReadonlySet<string>): Migration[] {
  const known = new Set(migrations.map(({ name }) => name))
  const unknown = [...applied].filter((name) => !known.has(name)).sort()
  if (unknown.length > 0)
    throw new NodeError(
      'bad_use',
      `the database is newer than this program, which does not know ${unknown.join(', ')}: run a newer Esclusa`,
    )
  return migrations.filter(({ name }) => !applied.has(name))
}

async function apply(tx: Tx, { name, text }: Migration): Promise<void> {
  const required = /^-- requires: (\S+)$/m.exec(text)?.[1]
  if (required) await refuseBesideOlder(tx, name, required)
  // SQLite prepares one statement at a time. None of our statements contains a semicolon.
  for (const statement of text.replace(/--.*$/gm, '').split(';'))
    if (statement.trim() !== '') await sql.raw(statement).execute(tx)
  await sql`insert into migration (version, name, applied_at) values (${numberOf(name)}, ${name}, ${Date.now()})`.execute(
    tx,
  )
}

/** The first version knew migrations by number alone, and refuses a database with one above its own. */
function numberOf(name: string): number {
  const number = /^\d{4}(?=-)/.exec(name)?.[0]
  if (!number) throw new Error(`migration ${name} must be named NNNN-what.sql`)
  return Number(number)
}

async function refuseBesideOlder(tx: Tx, name: string, required: string): Promise<void> {
  const older = await olderAtWork(tx, Date.now(), required)
  if (older.length === 0) return
  const who = older.map(({ owner, version }) => `${owner} (${version})`).join(', ')
  throw new NodeError(
    'bad_use',
    `the database cannot be brought up to date (${name}) while nodes older than ${required} are at work: ${who}; upgrade them first`,
  )
}
