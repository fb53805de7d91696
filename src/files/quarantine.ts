// How quarantined files lie in the data folder: `quarantine/<transfer>/<name>` holds the bytes as they came, and a hidden
// file beside it the file itself, where it could be taken out.

import { createHash } from 'node:crypto'
import { rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fromFileError } from '../errors.ts'
import { hashFile } from './hash.ts'
import { exists, linkOrCopy } from './place.ts'

const OPENED = '.opened-'

/** It was a gzip file whose name said so: what was in it lies here, and goes by the name without that ending. */
export const UNPACKED = '.unpacked'

const CLAIMED = '.claimed'

export function openedBeside(path: string, ending: '' | typeof UNPACKED | typeof CLAIMED = ''): string {
  // Of a length of its own: the name may be as long as names can be.
  const mark = createHash('sha256').update(basename(path)).digest('hex').slice(0, 24)
  return join(dirname(path), OPENED + mark + ending)
}

export function isOpenedForm(name: string): boolean {
  return name.startsWith(OPENED)
}

/**
 * A path for the file, or one like it if that is taken: a partner may send a bad file of the same name twice, even two at
 * once. So the path is claimed by a hidden name of the file beside it, which one alone can make. The caller renames `claim`
 * to `path` when the rest lies ready, for upkeep takes up whatever it finds there.
 */
export async function claimQuarantinePath(
  from: string,
  wanted: string,
): Promise<{ path: string; claim: string }> {
  for (let nth = 0; ; nth++) {
    const path = nth === 0 ? wanted : join(dirname(wanted), `${nth}.${basename(wanted).slice(-200)}`)
    const claim = openedBeside(path, CLAIMED)
    try {
      await linkOrCopy(from, claim)
    } catch (thrown) {
      if (fromFileError(thrown, claim).code === 'name_taken') continue
      throw thrown
    }
    if (!(await exists(path))) return { path, claim }
    await rm(claim)
  }
}

export function isClaim(name: string): boolean {
  return isOpenedForm(name) && name.endsWith(CLAIMED)
}

/**
 * A claim whose node was killed before the rename. Where the file has another name too, whoever has that goes on with it, and
 * the claim is removed. Else it is all there is of the file: it gets the name that it was claimed for, if that is one of
 * `names` and free, or one of its own.
 */
export async function endClaim(claim: string, names: readonly string[]): Promise<void> {
  const { nlink, ctimeMs } = await stat(claim)
  if (nlink > 1) return rm(claim, { force: true })
  const folder = dirname(claim)
  const wanted = names.map((name) => join(folder, name))
  const known = wanted.find((path) => openedBeside(path, CLAIMED) === claim)
  if (known && !(await exists(known))) return rename(claim, known)
  const mark = basename(claim, CLAIMED).slice(OPENED.length)
  const path = join(folder, `unfinished-${mark}-${Math.floor(ctimeMs)}`)
  for (const ending of ['', UNPACKED] as const) {
    const opened = join(folder, OPENED + mark + ending)
    if (!known && (await exists(opened))) await rename(opened, openedBeside(path, ending))
  }
  await rename(claim, path)
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
