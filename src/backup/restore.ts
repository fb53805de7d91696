// Restores a backup: unpacks and checks all of it, builds the database, makes it safe to work on (reconcile.ts), and only
// then puts everything in place (workplace.ts). On PostgreSQL the tables change in one transaction. Whatever is there
// goes aside. Killed at any point, it is run again: before the note it begins anew, after it it goes on.

import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { NodeError } from '../errors.ts'
import { exists } from '../files/place.ts'
import { livingOwners } from '../store/transfers/signs-of-life.ts'
import { hasChannels } from '../store/after-restore.ts'
import { lockMigrations, migrate, missing, ownMigrations } from '../store/database/migrate.ts'
import { connectTo } from '../store/database/open.ts'
import { isSetAside, setTablesAside, tablesThere } from '../store/database/set-aside.ts'
import type { Db, Store } from '../store/database/store.ts'
import type { Before } from '../store/after-restore.ts'
import { fromLines, fromStore, loadDatabase } from './load-database.ts'
import type { Source } from './load-database.ts'
import { SQLITE_FILE } from './manifest.ts'
import type { Manifest } from './manifest.ts'
import { readBackup, readManifest } from './read-backup.ts'
import { reconcile } from './reconcile.ts'
import {
  abandonWorkplace,
  asideFolder,
  clearWorkplace,
  emptyWorkplace,
  moveIn,
  nameOfBefore,
  readNote,
  unpack,
  writeNote,
} from './workplace.ts'
import type { Note } from './workplace.ts'

export type RestoreParts = {
  dataDir: string
  databaseUrl: string | undefined
  fileRoots: readonly string[]
  passphrase: string | undefined
  /** What is there may be set aside. */
  replace: boolean
  /** Throws where the secrets of the restored database do not open; `unpacked` holds the data folder to be. */
  check: (store: Pick<Store, 'db'>, unpacked: string) => Promise<void>
  warn: (text: string) => void
  now: number
}

export async function restore(path: string, parts: RestoreParts): Promise<Note> {
  const dataDir = resolve(parts.dataDir)
  const note = (await goOn(path, parts, dataDir)) ?? (await begin(path, parts, dataDir))
  if (parts.databaseUrl) await exchangeTables(parts.databaseUrl, parts, note, dataDir)
  await moveIn(dataDir, note.before)
  await clearWorkplace(dataDir)
  return note
}

/** A restore that was interrupted after its note. */
async function goOn(
  path: string,
  { passphrase, warn }: RestoreParts,
  dataDir: string,
): Promise<Note | undefined> {
  const note = readNote(dataDir)
  if (!note) return undefined
  const made = (manifest: Manifest) => new Date(manifest.madeAt).toISOString()
  if ((await readManifest(path, passphrase)).id !== note.manifest.id)
    throw new NodeError(
      'bad_use',
      `the restore of another backup, made ${made(note.manifest)}, was interrupted: run that one again first`,
    )
  warn('this restore was interrupted before; it goes on where it was')
  return note
}

async function begin(path: string, parts: RestoreParts, dataDir: string): Promise<Note> {
  await refuseInUse(parts, dataDir)
  const place = await emptyWorkplace(dataDir)
  try {
    return await prepare(path, parts, dataDir, place)
  } catch (thrown) {
    await abandonWorkplace(dataDir).catch(() => {}) // the fault is told that made it fail
    throw thrown
  }
}

async function prepare(path: string, parts: RestoreParts, dataDir: string, place: string): Promise<Note> {
  const { manifest } = await readBackup(path, parts.passphrase, (entry) => unpack(place, entry))
  missing(ownMigrations(), new Set(manifest.migrations))
  const note = { manifest, before: await freeName(parts, dataDir) }
  if (!parts.databaseUrl) await buildSqlite(parts, note, dataDir, place)
  // All of it may have taken long, and nothing but the note keeps a node from starting.
  await refuseInUse(parts, dataDir)
  await writeNote(dataDir, note)
  return note
}

async function freeName({ databaseUrl, now }: RestoreParts, dataDir: string): Promise<string> {
  const store = databaseUrl ? await connectTo({ databaseUrl, dataDir }) : undefined
  try {
    return await nameOfBefore(
      now,
      async (name) =>
        (await exists(asideFolder(dataDir, name))) || (store ? await isSetAside(store.db, name) : false),
    )
  } finally {
    await store?.close()
  }
}

/** No node may be at work, and what is there is set aside only if that is said to be right. */
async function refuseInUse({ databaseUrl, replace, now }: RestoreParts, dataDir: string): Promise<void> {
  if (!databaseUrl && !existsSync(join(dataDir, 'esclusa.db'))) return
  const store = await connectTo({ databaseUrl, dataDir })
  try {
    await refuseAtWork(store.db, now)
    if (!replace && (await hasChannels(store.db).catch(() => false)))
      throw new NodeError(
        'conflict',
        'there is a platform already: --replace sets it aside and restores the backup',
      )
  } finally {
    await store.close()
  }
}

async function refuseAtWork(db: Db, now: number): Promise<void> {
  const living = await livingOwners(db, now).catch(() => new Set<string>())
  if (living.size > 0)
    throw new NodeError(
      'conflict',
      `nodes are at work on this database (${[...living].join(', ')}): stop them first; one that was killed counts for as long as its lease`,
    )
}

/** Where the rows of the backup are taken from. */
async function withSource<T>(
  manifest: Manifest,
  place: string,
  use: (source: Source) => Promise<T>,
): Promise<T> {
  const folder = join(place, 'database')
  if (manifest.dialect === 'postgres') return use(fromLines(folder))
  const store = await connectTo({ dataDir: folder })
  try {
    return await use(fromStore(store))
  } finally {
    await store.close()
  }
}

async function buildSqlite(
  parts: RestoreParts,
  { manifest }: Note,
  dataDir: string,
  place: string,
): Promise<void> {
  const unpacked = join(place, 'data')
  if (manifest.dialect === 'sqlite') await rename(join(place, SQLITE_FILE), join(unpacked, 'esclusa.db'))
  const store = await connectTo({ dataDir: unpacked })
  const old = existsSync(join(dataDir, 'esclusa.db')) ? await connectTo({ dataDir }) : undefined
  try {
    if (manifest.dialect === 'sqlite') await migrate(store)
    else
      await withSource(manifest, place, (source) =>
        store.write((tx) => loadDatabase(tx, store.dialect, manifest, source)),
      )
    const before = old && (await readable(old))
    await store.write((tx) =>
      reconcile(tx, { ...parts, dialect: store.dialect, manifest, dataDir, unpacked, before }),
    )
    await parts.check(store, unpacked)
  } finally {
    await old?.close()
    await store.close()
  }
}

/** One that does not even say what it holds is as good as none. */
async function readable({ db, dialect }: Store): Promise<Before | undefined> {
  const tables = await tablesThere(db, dialect).catch(() => new Set<string>())
  return tables.has('transfer') ? { db, dialect, tables, nameOf: (table) => table } : undefined
}

/** All in one transaction: until it commits the old tables are there, from then on the new ones. */
async function exchangeTables(
  databaseUrl: string,
  parts: RestoreParts,
  { manifest, before: schema }: Note,
  dataDir: string,
): Promise<void> {
  const store = await connectTo({ databaseUrl, dataDir })
  const place = join(dataDir, 'restoring')
  const unpacked = join(place, 'data')
  try {
    if (await isSetAside(store.db, schema)) return
    await withSource(manifest, place, (source) =>
      store.write(async (tx) => {
        await lockMigrations(tx, store.dialect)
        // Nodes with other data folders do not see the note.
        await refuseAtWork(store.db, parts.now)
        const tables = await setTablesAside(tx, store.dialect, schema)
        await loadDatabase(tx, store.dialect, manifest, source)
        const before: Before = {
          db: tx.withSchema(schema),
          dialect: store.dialect,
          tables,
          nameOf: (table) => `${schema}.${table}`,
        }
        await reconcile(tx, {
          ...parts,
          dialect: store.dialect,
          manifest,
          dataDir,
          unpacked,
          before: tables.has('transfer') ? before : undefined,
        })
        await parts.check({ db: tx }, unpacked)
      }),
    )
  } catch (thrown) {
    // Nothing has changed yet: the note must not keep nodes from starting.
    if (!(await isSetAside(store.db, schema).catch(() => true)))
      await abandonWorkplace(dataDir).catch(() => {})
    throw thrown
  } finally {
    await store.close()
  }
}
