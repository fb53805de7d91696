// Forward-only migrations: numbered SQL files, each applied once, all under one lock so that of several nodes starting
// together one migrates and the others wait. A database newer than this program is refused.

import { sql } from 'kysely'
import { readdirSync, readFileSync } from 'node:fs'
import { NodeError } from '../../errors.ts'
import { fromRoot } from '../../root.ts'
import type { Store, Tx } from './store.ts'

const FOLDER = fromRoot('src/store/migrations/')
const LOCK_KEY = 0x45534c55 // any number that no other program uses in this database

type Migration = { version: number; name: string }

/** Each by the number in its name: of two made at the same time either may come first. */
function knownMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({ version: Number.parseInt(name, 10), name }))
}

export async function migrate(store: Store): Promise<void> {
  const known = knownMigrations()
  if (missing(known, await appliedBefore(store)).length === 0) return
  await store.write(async (tx) => {
    if (store.dialect.rowLocks) await sql`select pg_advisory_xact_lock(${LOCK_KEY})`.execute(tx)
    await sql`create table if not exists migration (version integer primary key, name text not null, applied_at bigint not null)`.execute(
      tx,
    )
    for (const one of missing(known, await appliedVersions(tx))) await applyFile(tx, one)
  })
}

/** Those still to be applied, in order; a database that has one more than this program knows is refused. */
function missing(known: readonly Migration[], applied: readonly number[]): Migration[] {
  const foreign = applied.filter((version) => !known.some((one) => one.version === version))
  if (foreign.length > 0)
    throw new NodeError(
      'bad_use',
      `the database has schema ${Math.max(...foreign)}, this program knows ${known.at(-1)?.version ?? 0}: run a newer Esclusa`,
    )
  return known.filter((one) => !applied.includes(one.version))
}

async function appliedBefore(store: Store): Promise<number[]> {
  try {
    return await appliedVersions(store.db as unknown as Tx) // reads only; the table may not exist yet
  } catch {
    return []
  }
}

async function appliedVersions(tx: Tx): Promise<number[]> {
  const { rows } = await sql<{ version: number }>`select version from migration`.execute(tx)
  return rows.map((row) => row.version)
}

async function applyFile(tx: Tx, { version, name }: Migration): Promise<void> {
  // SQLite prepares one statement at a time; no statement of ours holds a semicolon inside.
  const text = readFileSync(new URL(name, FOLDER), 'utf8').replace(/--.*$/gm, '')
  for (const statement of text.split(';')) if (statement.trim() !== '') await sql.raw(statement).execute(tx)
  await sql`insert into migration (version, name, applied_at) values (${version}, ${name}, ${Date.now()})`.execute(
    tx,
  )
}
