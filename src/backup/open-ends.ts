// What was still open in the database that a restored one takes the place of: receipts that partners wait for, keys that
// they have proposed, files that lie ready for partners who call, files held since an earlier restore, and the quarantine. The copies that lie ready are
// in the data folder, which is exchanged too: those of today are put beside the ones of the backup. That is done after the
// rows: what fails on a disk says nothing about the database, and rows can be rolled back while files cannot.

import { lstat, mkdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fromFileError } from '../errors.ts'
import { syncFolder } from '../files/folder-sync.ts'
import { linkOrCopy } from '../files/place.ts'
import {
  acceptedKeys,
  forgetLaid,
  forgetTakenOfUnknown,
  hasTransfer,
  laidFile,
  quarantinedFiles,
  takeOver,
} from '../store/after-restore.ts'
import type { Before, LaidFile, QuarantinedPaths } from '../store/after-restore.ts'
import type { Tables } from '../store/database/tables.ts'
import type { Tx } from '../store/database/store.ts'
import { goneMeanwhile } from './data-files.ts'

type Places = {
  dataDir: string
  /** Where the data folder's files lie until they are moved in. */
  unpacked: string
  warn: (text: string) => void
}

export type OpenEnds = {
  /** Files that lie ready, or are held, with the path that the database before had for each. */
  ready: { row: LaidFile; from: string; hash: string | null }[]
  /** Of quarantined files that were decided since, paths inside the data folder: they must not come back. */
  decided: Set<string>
  acceptedSince: Tables['key_proposal'][]
}

/** The rows alone. */
export async function takeOverOpenEnds(tx: Tx, before: Before, dataDir: string): Promise<OpenEnds> {
  await takeOver(tx, before, 'owed_receipt', (row) => row)
  const acceptedSince = await takeOverProposals(tx, before)
  const ready = await takeOverOutbox(tx, before, dataDir)
  const decided = await takeOverQuarantine(tx, before, dataDir)
  return { ready, decided, acceptedSince }
}

/** Channels are those of the backup: a key that was accepted since is at work in none of them. */
async function takeOverProposals(tx: Tx, before: Before): Promise<OpenEnds['acceptedSince']> {
  const accepted = await acceptedKeys(tx)
  const since: OpenEnds['acceptedSince'] = []
  await takeOver(tx, before, 'key_proposal', (row) => {
    if (row.accepted_at === null || accepted.has(row.id)) return row
    since.push(row)
    return { ...row, accepted_at: null, decided_by: null }
  })
  return since
}

async function takeOverOutbox(tx: Tx, before: Before, dataDir: string): Promise<OpenEnds['ready']> {
  const place = (path: string) => join(dataDir, 'outbox', basename(path))
  const held = new Set<string>()
  await takeOver(tx, before, 'held_file', (row) => {
    if (row.outbox_id === null) return row
    if (row.dropped_at === null) held.add(row.outbox_id)
    return { ...row, path: place(row.path) }
  })
  const ready: OpenEnds['ready'] = []
  await takeOver(tx, before, 'outbox_file', async (row) => {
    const taken = { ...row, path: place(row.path) }
    if (row.taken_at !== null && !held.has(row.id)) return taken
    const file = await laidFile(before, row)
    // Its original lies where it was, and is held there.
    if (row.taken_at === null && file?.receipt === 'AWAITED' && !(await hasTransfer(tx, row)))
      return undefined
    ready.push({ row: taken, from: row.path, hash: file?.hash ?? null })
    return taken
  })
  await forgetTakenOfUnknown(tx)
  return ready
}

/** Rows that the backup has and the database before does not were decided too, so long ago that they are forgotten. */
async function takeOverQuarantine(tx: Tx, before: Before, dataDir: string): Promise<Set<string>> {
  const inside = (path: string) => join('quarantine', basename(dirname(path)), basename(path))
  const pathsOf = ({ path, opened_path: opened }: QuarantinedPaths) =>
    (opened === null ? [path] : [path, opened]).map(inside)
  const decided = new Set((await quarantinedFiles(tx)).flatMap(pathsOf))
  if (!before.tables.has('quarantined_file')) return new Set()
  await takeOver(tx, before, 'quarantined_file', (row) => {
    const isDecided = row.state === 'RELEASED' || row.state === 'DISCARDED'
    for (const path of pathsOf(row))
      if (isDecided) decided.add(path)
      else decided.delete(path)
    const { path, opened_path: opened } = row
    return {
      ...row,
      path: join(dataDir, inside(path)),
      opened_path: opened && join(dataDir, inside(opened)),
    }
  })
  return decided
}

/** Puts the copies that lie ready beside those of the backup, and says what a person must see to. */
export async function bringCopies(
  tx: Tx,
  { ready, acceptedSince }: OpenEnds,
  { unpacked, warn }: Places,
): Promise<void> {
  const folder = join(unpacked, 'outbox')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const { row, from, hash } of ready) {
    if (await bring([from, row.path], join(folder, basename(row.path)))) continue
    warn(
      `channel ${row.channel_code}: ${row.name} lay ready for the partner, and its copy is lost: it must be sent again`,
    )
    await forgetLaid(tx, row, hash)
  }
  await syncFolder(folder)
  for (const { contact_id, fingerprint } of acceptedSince)
    warn(
      `contact ${contact_id}: key ${fingerprint} was accepted since, and its channels have the one before: accept it again`,
    )
}

/** False: it is nowhere. One that cannot be looked for is not lost. */
async function bring(from: readonly string[], to: string): Promise<boolean> {
  for (const path of [to, ...from])
    try {
      if (!(await lstat(path).catch(goneMeanwhile))) continue
      if (path !== to) await linkOrCopy(path, to)
      return true
    } catch (thrown) {
      throw fromFileError(thrown, path)
    }
  return false
}

/** The backup has their bytes. When nothing else can fail: whoever falls back to the backup alone needs them. */
export async function removeDecided({ decided }: OpenEnds, unpacked: string): Promise<void> {
  for (const path of decided) await rm(join(unpacked, path), { force: true })
}
