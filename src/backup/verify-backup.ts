// Whether a backup could be restored: every octet is as it was written, the database in it is whole, and this program
// knows its version. Nothing but a temporary folder is written to.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NodeError } from '../errors.ts'
import { missing, ownMigrations } from '../store/database/migrate.ts'
import { sqliteFaults } from '../store/database/snapshot.ts'
import { DATABASE, SQLITE_FILE } from './manifest.ts'
import { readBackup } from './read-backup.ts'
import type { ReadBackup } from './read-backup.ts'
import type { ReadEntry } from './tar.ts'

const LINE_FEED = 10

export async function verifyBackup(path: string, passphrase: string | undefined): Promise<ReadBackup> {
  const folder = await mkdtemp(join(tmpdir(), 'esclusa-verify-'))
  const rows: Record<string, number> = {}
  try {
    const read = await readBackup(path, passphrase, async (entry) => {
      if (entry.name === SQLITE_FILE) await writeFile(join(folder, 'esclusa.db'), entry.body, { mode: 0o600 })
      else if (entry.name.startsWith(DATABASE)) await countRows(entry, rows)
    })
    missing(ownMigrations(), new Set(read.manifest.migrations))
    const faults =
      read.manifest.dialect === 'sqlite'
        ? sqliteFaults(join(folder, 'esclusa.db'))
        : rowFaults(read.contents.rows, rows)
    if (faults.length > 0)
      throw new NodeError(
        'damaged',
        `the database in the backup is damaged: ${faults.slice(0, 5).join('; ')}`,
      )
    return read
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** One line a row; whether they are as they were written is known at the end of the file. */
async function countRows(entry: ReadEntry, rows: Record<string, number>): Promise<void> {
  const table = entry.name.slice(DATABASE.length).replace(/\.\d+\.jsonl$/, '')
  for await (const piece of entry.body)
    for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, at + 1))
      rows[table] = (rows[table] ?? 0) + 1
}

function rowFaults(said: Record<string, number>, found: Record<string, number>): string[] {
  return Object.entries(said)
    .filter(([table, count]) => (found[table] ?? 0) !== count)
    .map(([table, count]) => `${found[table] ?? 0} rows of ${table}, not ${count}`)
}
