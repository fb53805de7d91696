// What was still open in the database that a restored one takes the place of: receipts that partners wait for, keys that
// they have proposed, files that lie ready for partners who call, files held since an earlier restore, and the quarantine. The copies that lie ready are
// in the data folder, which is exchanged too: those of today are put beside the ones of the backup.

import { mkdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncFolder } from '../files/folder-sync.ts'
import { exists, linkOrCopy } from '../files/place.ts'
import { acceptedKeys, forgetLaid, isOfUnknownTransfer, takeOver } from '../store/after-restore.ts'
import type { Before } from '../store/after-restore.ts'
import type { Tx } from '../store/database/store.ts'

type Places = {
  dataDir: string
  /** Where the data folder's files lie until they are moved in. */
  unpacked: string
  warn: (text: string) => void
}

export async function takeOverOpenEnds(tx: Tx, before: Before, places: Places): Promise<void> {
  await takeOver(tx, before, 'owed_receipt', (row) => row)
  await takeOverProposals(tx, before, places)
  await takeOverOutbox(tx, before, places)
  await takeOverQuarantine(tx, before, places)
}

/** Channels are those of the backup: a key that was accepted since is at work in none of them. */
async function takeOverProposals(tx: Tx, before: Before, { warn }: Places): Promise<void> {
  const accepted = await acceptedKeys(tx)
  await takeOver(tx, before, 'key_proposal', (row) => {
    if (row.accepted_at === null || accepted.has(row.id)) return row
    warn(
      `contact ${row.contact_id}: key ${row.fingerprint} was accepted since, and its channels have the one before: accept it again`,
    )
    return { ...row, accepted_at: null, decided_by: null }
  })
}

async function takeOverOutbox(tx: Tx, before: Before, { dataDir, unpacked, warn }: Places): Promise<void> {
  const place = (path: string) => join(dataDir, 'outbox', basename(path))
  const held = new Set<string>()
  await takeOver(tx, before, 'held_file', (row) => {
    if (row.outbox_id === null) return row
    if (row.dropped_at === null) held.add(row.outbox_id)
    return { ...row, path: place(row.path) }
  })
  await mkdir(join(unpacked, 'outbox'), { recursive: true, mode: 0o700 })
  await takeOver(tx, before, 'outbox_file', async (row) => {
    const isNeeded = row.taken_at === null || held.has(row.id)
    if (row.taken_at === null && (await isOfUnknownTransfer(tx, before, row))) return undefined
    if (!isNeeded || (await bring([row.path, place(row.path)], join(unpacked, 'outbox', basename(row.path)))))
      return { ...row, path: place(row.path) }
    warn(
      `channel ${row.channel_code}: ${row.name} lay ready for the partner, and its copy is lost: it must be sent again`,
    )
    await forgetLaid(tx, row)
    return undefined
  })
  await syncFolder(join(unpacked, 'outbox'))
}

/** False: it is nowhere. */
async function bring(from: readonly string[], to: string): Promise<boolean> {
  if (await exists(to)) return true
  for (const path of from)
    if (await exists(path)) {
      await linkOrCopy(path, to)
      return true
    }
  return false
}

/** Of files that were decided since, the backup has the bytes: they must not come back. */
async function takeOverQuarantine(tx: Tx, before: Before, { dataDir, unpacked }: Places): Promise<void> {
  const inside = (path: string) => join('quarantine', basename(dirname(path)), basename(path))
  await takeOver(tx, before, 'quarantined_file', async (row) => {
    const { path, opened_path: opened, state } = row
    if (state === 'RELEASED' || state === 'DISCARDED')
      for (const one of [path, opened ?? path]) await rm(join(unpacked, inside(one)), { force: true })
    return {
      ...row,
      path: join(dataDir, inside(path)),
      opened_path: opened && join(dataDir, inside(opened)),
    }
  })
}
