// Which files of the data folder are in a backup: all but the database, the channels' own folders where they lie inside
// it, what a restore has set aside, the names of nodes at work, and the kept head of the audit trail, by which it shows that
// a database was put back.

import { lstat, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { systemCode } from '../errors.ts'
import { RESTORING } from '../files/half-restored.ts'

/** What a restore has set aside. */
export const BEFORE_RESTORE = 'before-restore-'
const LEFT_OUT = [
  'esclusa.db',
  'audit-head.json',
  'jwt-secret.readers',
  'master-key.readers',
  RESTORING,
  BEFORE_RESTORE,
]

export async function* dataFiles(dataDir: string, fileRoots: readonly string[]): AsyncGenerator<string> {
  const top = resolve(dataDir)
  const leftOut = new Set(fileRoots.map((root) => resolve(root)))
  for (const name of (await readdir(top)).sort())
    if (!LEFT_OUT.some((beginning) => name.startsWith(beginning))) yield* filesUnder(join(top, name), leftOut)
}

async function* filesUnder(path: string, leftOut: ReadonlySet<string>): AsyncGenerator<string> {
  if (leftOut.has(path)) return
  const found = await lstat(path).catch(goneMeanwhile)
  if (found?.isFile()) yield path
  if (!found?.isDirectory()) return
  for (const name of (await readdir(path).catch(goneMeanwhile)) ?? [])
    yield* filesUnder(join(path, name), leftOut)
}

/** Nodes are at work: what is gone by now was not left out by us. */
export function goneMeanwhile(thrown: unknown): undefined {
  if (systemCode(thrown) !== 'ENOENT') throw thrown
}
