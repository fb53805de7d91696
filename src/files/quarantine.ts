// How quarantined files lie in the data folder: `quarantine/<transfer>/<name>` holds the bytes as they came, and a hidden
// file beside it the file itself, where it could be taken out.

import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fromFileError } from '../errors.ts'
import { hashFile } from './hash.ts'
import { exists, linkOrCopy } from './place.ts'

const OPENED = '.opened-'

/** It was a gzip file whose name said so: what was in it lies here, and goes by the name without that ending. */
export const UNPACKED = '.unpacked'

export function openedBeside(path: string, ending: '' | typeof UNPACKED = ''): string {
  // Of a length of its own: the name may be as long as names can be.
  const mark = createHash('sha256').update(basename(path)).digest('hex').slice(0, 24)
  return join(dirname(path), OPENED + mark + ending)
}

export function isOpenedForm(name: string): boolean {
  return name.startsWith(OPENED)
}

/**
 * Gives the file that path, or one like it if that is taken: a partner may send a bad file of the same name twice, even two
 * at once. Returns the path. The old name stays, for the caller to remove.
 */
export async function linkIntoQuarantine(from: string, path: string): Promise<string> {
  for (let nth = 0; ; nth++) {
    const free = nth === 0 ? path : join(dirname(path), `${nth}.${basename(path).slice(-200)}`)
    try {
      await linkOrCopy(from, free)
      return free
    } catch (thrown) {
      if (fromFileError(thrown, free).code !== 'name_taken') throw thrown
    }
  }
}

export async function quarantinedFacts(path: string) {
  const unpacked = openedBeside(path, UNPACKED)
  const beside = (await exists(unpacked)) ? unpacked : openedBeside(path)
  const opened = (await exists(beside)) ? { path: beside, ...(await sizeAndHash(beside)) } : null
  return { path, ...(await sizeAndHash(path)), opened }
}

async function sizeAndHash(path: string): Promise<{ size: number; hash: string }> {
  return { size: (await stat(path)).size, hash: await hashFile(path) }
}
