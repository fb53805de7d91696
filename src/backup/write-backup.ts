// Makes a backup while nodes run: the database as it is at one moment, then the data folder's files. Files come second,
// so that a row's file is there, or was dealt with since; what a row speaks of and the backup lacks is sorted out when
// it is restored. The channels' own folders (file roots) are not in it.
//
// It is written under another name, synced, and then given its own: a file of that name is a whole backup.

import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { link, open, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { fromFileError, messageOf, NodeError, systemCode } from '../errors.ts'
import { VERSION } from '../root.ts'
import { isInside } from '../domain/channel-rules.ts'
import { syncFolder } from '../files/folder-sync.ts'
import { realPlace } from '../files/roots.ts'
import { appliedNames, missing, ownMigrations } from '../store/database/migrate.ts'
import type { Migration } from '../store/database/migrate.ts'
import { beginSnapshot, copySqlite, rowsOf, tablesMadeBy } from '../store/database/snapshot.ts'
import type { Db, Store } from '../store/database/store.ts'
import { dataFiles, goneMeanwhile } from './data-files.ts'
import { CONTENTS, DATA, DATABASE, MANIFEST, SQLITE_FILE } from './manifest.ts'
import type { Contents, Manifest } from './manifest.ts'
import { sealStream } from './sealing.ts'
import { writeTar } from './tar.ts'
import type { WrittenEntry } from './tar.ts'

export type BackupParts = {
  store: Store
  dataDir: string
  fileRoots: readonly string[]
  /** Absent: the backup is not sealed. */
  passphrase?: string | undefined
  now: number
  /** Somebody wants it to end: nothing is left of it. */
  signal?: AbortSignal
}

export type MadeBackup = { bytes: number; files: number }

/** Of one table, in one entry. */
const LINES_LENGTH = 4 * 1024 * 1024

export async function writeBackup(target: string, parts: BackupParts): Promise<MadeBackup> {
  refuseInside(target, parts)
  await refuseTaken(target)
  const folder = dirname(resolve(target))
  // A name of its own: another backup to the same target, made at the same time, must not write to this one's file.
  const draft = join(folder, `.${basename(target)}.making-${randomBytes(4).toString('hex')}`)
  const contents: Contents = { entries: {}, rows: {} }
  // Before anything is read: most of what can go wrong is a folder that is not there or may not be written.
  const file = await open(draft, 'wx', 0o600).catch((thrown: unknown) => {
    throw unwritable(target, thrown)
  })
  try {
    await removeLeftovers(folder, parts.now)
    const { passphrase } = parts
    await pipeline(
      writeTar(entries(parts, contents, `${draft}.db`)),
      createGzip(),
      (packed: AsyncIterable<Uint8Array>) =>
        passphrase === undefined ? packed : sealStream(packed, passphrase),
      file.createWriteStream({ flush: true }),
      parts.signal ? { signal: parts.signal } : {},
    ).catch((thrown: unknown) => {
      throw isWrite(thrown) ? unwritable(target, thrown) : thrown
    })
    const { size } = await stat(draft)
    await link(draft, target).catch((thrown: unknown) => {
      throw systemCode(thrown) === 'EEXIST' ? taken(target) : thrown
    })
    await syncFolder(folder)
    return {
      bytes: size,
      files: Object.keys(contents.entries).filter((name) => name.startsWith(DATA)).length,
    }
  } finally {
    for (const left of [draft, `${draft}.db`, `${draft}.db-journal`]) await rm(left, { force: true })
  }
}

const LEFTOVER = /^\..+\.making-[0-9a-f]{8}(\.db(-journal)?)?$/
const LEFT_FOR_MS = 86_400_000

/** Of backups that were killed; a copy of the database among them is not even sealed. */
async function removeLeftovers(folder: string, now: number): Promise<void> {
  for (const name of (await readdir(folder)).filter((one) => LEFTOVER.test(one))) {
    const path = join(folder, name)
    const found = await stat(path).catch(goneMeanwhile)
    if (found && found.mtimeMs < now - LEFT_FOR_MS) await rm(path, { force: true })
  }
}

function unwritable(target: string, cause: unknown): NodeError {
  const { code } = fromFileError(cause, target)
  return new NodeError(code, `${target} cannot be written: ${systemCode(cause) ?? messageOf(cause)}`, {
    cause,
  })
}

function isWrite(thrown: unknown): boolean {
  return thrown instanceof Error && 'syscall' in thrown && thrown.syscall === 'write'
}

/** Each backup would hold all that were made before it. What lies in file roots is in none. */
function refuseInside(target: string, { dataDir, fileRoots }: BackupParts): void {
  const place = realPlace(resolve(target))
  const lies = (folder: string) => isInside(place, realPlace(resolve(folder)))
  if (!lies(dataDir) || fileRoots.some(lies)) return
  throw new NodeError(
    'bad_use',
    `${target} lies in the data folder, of which the backup is made: give a place outside it, best on another disk`,
  )
}

async function refuseTaken(target: string): Promise<void> {
  if (await stat(target).catch(() => undefined)) throw taken(target)
}

function taken(target: string): NodeError {
  return new NodeError('bad_use', `${target} exists already: give a name that is not taken`)
}

async function* entries(
  { store, dataDir, fileRoots, now }: BackupParts,
  contents: Contents,
  copy: string,
): AsyncGenerator<WrittenEntry> {
  const migrations = await migrationsOf(store)
  const manifest: Manifest = {
    format: 1,
    id: randomUUID(),
    version: VERSION,
    madeAt: now,
    dialect: store.dialect.name,
    migrations: migrations.map(({ name }) => name),
    dataDir: resolve(dataDir),
  }
  yield noted(contents, textEntry(MANIFEST, JSON.stringify(manifest), now))
  if (store.dialect.name === 'sqlite') {
    await copySqlite(dataDir, copy)
    yield noted(contents, await fileEntry(SQLITE_FILE, copy))
  } else yield* tableEntries(store, tablesMadeBy(migrations), contents, now)
  for await (const path of dataFiles(dataDir, fileRoots)) {
    const entry = await fileEntry(DATA + relative(resolve(dataDir), path), path).catch(goneMeanwhile)
    if (entry) yield noted(contents, entry)
  }
  yield textEntry(CONTENTS, JSON.stringify(contents), now)
}

async function migrationsOf(store: Store): Promise<Migration[]> {
  const applied = await appliedNames(store.db).catch((cause: unknown) => {
    throw new NodeError('bad_use', 'there is no database to back up', { cause })
  })
  missing(ownMigrations(), applied) // of a newer database this program does not know the tables
  return ownMigrations().filter(({ name }) => applied.has(name))
}

async function* tableEntries(
  store: Store,
  tables: readonly string[],
  contents: Contents,
  now: number,
): AsyncGenerator<WrittenEntry> {
  const tx = await beginSnapshot(store)
  try {
    for (const table of tables) {
      let part = 0
      contents.rows[table] = 0
      for await (const lines of linesOf(tx, store, table)) {
        contents.rows[table] += lines.length
        const name = `${DATABASE}${table}.${String(part++).padStart(5, '0')}.jsonl`
        yield noted(contents, textEntry(name, lines.join(''), now))
      }
    }
  } finally {
    await tx.rollback().execute()
  }
}

async function* linesOf(db: Db, { dialect }: Store, table: string): AsyncGenerator<string[]> {
  let lines: string[] = []
  let length = 0
  for await (const rows of rowsOf(db, dialect, table))
    for (const row of rows) {
      const line = `${JSON.stringify(row)}\n`
      lines.push(line)
      length += line.length
      if (length < LINES_LENGTH) continue
      yield lines
      lines = []
      length = 0
    }
  if (lines.length > 0) yield lines
}

/** Bodies are hashed while they are written. */
function noted(contents: Contents, entry: WrittenEntry): WrittenEntry {
  async function* body() {
    const hash = createHash('sha256')
    for await (const piece of entry.body) {
      hash.update(piece)
      yield piece
    }
    contents.entries[entry.name] = { size: entry.size, sha256: hash.digest('hex') }
  }
  return { ...entry, body: body() }
}

function textEntry(name: string, text: string, now: number): WrittenEntry {
  const bytes = Buffer.from(text)
  return { name, size: bytes.length, mode: 0o600, modifiedAt: now, body: [bytes] }
}

/** As long as it is now: what is added to it meanwhile is not in the backup. */
async function fileEntry(name: string, path: string): Promise<WrittenEntry> {
  const file = await open(path, 'r')
  const { size, mode, mtimeMs } = await file.stat()
  const body = size === 0 ? [] : file.createReadStream({ end: size - 1 })
  if (size === 0) await file.close()
  return { name, size, mode, modifiedAt: mtimeMs, body }
}
