// Forward-only migrations: numbered SQL files, each applied once, all under one lock so that of several nodes starting
// together one migrates and the others wait. A database newer than this program is refused.

import { sql } from 'kysely'
import { readdirSync, readFileSync } from 'node:fs'
import { NodeError } from '../../errors.ts'
import { fromRoot } from '../../root.ts'
import type { Store, Tx } from './store.ts'

const FOLDER = fromRoot('src/store/migrations/')
const LOCK_KEY = 0x45534c55 // any number that no other program uses in this database

export async function migrate(store: Store): Promise<void> {
  const files = readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  if ((await currentVersion(store)) === files.length) return
  await store.write(async (tx) => {
    if (store.dialect.rowLocks) await sql`select pg_advisory_xact_lock(${LOCK_KEY})`.execute(tx)
    await sql`create table if not exists migration (version integer primary key, name text not null, applied_at bigint not null)`.execute(
      tx,
    )
    const done = await appliedVersion(tx)
    if (done > files.length)
      throw new NodeError(
        'bad_use',
        `the database has schema ${done}, this program knows ${files.length}: run a newer Esclusa`,
      )
    for (const [index, name] of files.entries()) if (index >= done) await applyFile(tx, index + 1, name)
  })
}

async function currentVersion(store: Store): Promise<number> {
  try {
    return await appliedVersion(store.db as unknown as Tx) // reads only; the table may not exist yet
  } catch {
    return 0
  }
}

async function appliedVersion(tx: Tx): Promise<number> {
  const { rows } = await sql<{
    version: number | null
  }>`select max(version) as version from migration`.execute(tx)
  return rows[0]?.version ?? 0
}

async function applyFile(tx: Tx, version: number, name: string): Promise<void> {
  // SQLite prepares one statement at a time; no statement of ours holds a semicolon inside.
  const text = readFileSync(new URL(name, FOLDER), 'utf8').replace(/--.*$/gm, '')
  for (const statement of text.split(';')) if (statement.trim() !== '') await sql.raw(statement).execute(tx)
  await sql`insert into migration (version, name, applied_at) values (${version}, ${name}, ${Date.now()})`.execute(
    tx,
  )
}
