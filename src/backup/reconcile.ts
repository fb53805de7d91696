// Makes a restored database safe to work on. Since the backup files were sent and received of which it knows nothing:
//
//   - What the database before it still knows is brought over: memories against duplicates, events, what they mean for
//     subscriptions and expectations, how far the transfers got that were active, and what was still open (open-ends.ts).
//     If it cannot be read, or does not go on from the backup, nothing is known. If it was itself restored since, it does
//     not know what lay in outbound directories.
//   - An emission of which nothing is known ends as FAILED (`restored`): a retry sends it, a reset gives it up. One that
//     only waits for receipts goes on waiting. A reception ends likewise; the partner sends again what it has no
//     receipt for.
//   - Files that lie in outbound directories, or ready for a partner who calls, and may have been sent since, are held
//     until a person decides (store/held-files.ts).
//   - If nothing is known, events get positions beyond any that may have been given out: readers are told of the gap.
//   - Half files that the backup lacks are forgotten: the partner begins anew.

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { goes } from '../domain/channel.ts'
import type { TransferRecord } from '../domain/transfer.ts'
import { messageOf } from '../errors.ts'
import { hashFile } from '../files/hash.ts'
import { findSendSet } from '../files/send-set.ts'
import type { Candidate } from '../files/send-set.ts'
import {
  bringOver,
  catchUp,
  forgetEngines,
  forgetHalfFile,
  goesOnFrom,
  halfFiles,
  knownBefore,
  movePaths,
  restoredSince,
  takenSince,
} from '../store/after-restore.ts'
import type { Before } from '../store/after-restore.ts'
import { addHistory, listChannels } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import { newId } from '../store/database/ids.ts'
import { tryInside } from '../store/database/savepoint.ts'
import type { Dialect, Tx } from '../store/database/store.ts'
import { bringEvents } from '../store/events/after-restore.ts'
import { skipPositions } from '../store/events/sequence.ts'
import { bringDays } from '../store/expectations/after-restore.ts'
import { heldIn, holdFile, holdInOutbox } from '../store/held-files.ts'
import { allWaitingFiles } from '../store/transfers/outbox.ts'
import { sentHashes } from '../store/transfers/sent-files.ts'
import { activeIds } from '../store/transfers/staged-paths.ts'
import { findTransfer, moveTransfer } from '../store/transfers/transfers.ts'
import type { Manifest } from './manifest.ts'
import { bringCopies, removeDecided, takeOverOpenEnds } from './open-ends.ts'
import type { OpenEnds } from './open-ends.ts'

export type Reconciling = {
  manifest: Manifest
  dialect: Dialect
  dataDir: string
  /** Where the data folder's files lie until they are moved in. */
  unpacked: string
  fileRoots: readonly string[]
  now: number
  before: Before | undefined
  warn: (text: string) => void
}

export async function reconcile(tx: Tx, work: Reconciling): Promise<void> {
  await forgetEngines(tx)
  if (work.manifest.dataDir !== work.dataDir) await movePaths(tx, work.manifest.dataDir, work.dataDir)
  await forgetLostHalves(tx, work)
  const known = work.before && (await bringWhatIsKnown(tx, work, work.before))
  if (known) await bringCopies(tx, known, work)
  else {
    await skipPositions(tx, work.dialect)
    for (const id of await activeIds(tx)) await giveUp(tx, id, work)
    await holdWaiting(tx, work)
  }
  const before = known?.knowsAll ? work.before : undefined
  for (const channel of await listChannels(tx))
    if (goes(channel.config, 'EMISION')) await holdLying(tx, work, channel, before)
  if (known) await removeDecided(known, work.unpacked)
}

/** Undefined: the database before knows nothing, or cannot be read, and nothing of it was brought over. */
async function bringWhatIsKnown(
  tx: Tx,
  work: Reconciling,
  before: Before,
): Promise<(OpenEnds & { knowsAll: boolean }) | undefined> {
  try {
    return await tryInside(tx, async () => {
      if (await goesOnFrom(tx, before)) return bringRows(tx, work, before)
      work.warn(
        'the database before is not a later one of the same platform: what was sent since the backup is not known',
      )
      return undefined
    })
  } catch (thrown) {
    work.warn(
      `the database before could not be read (${messageOf(thrown)}): what was sent since is not known`,
    )
    return undefined
  }
}

async function bringRows(tx: Tx, work: Reconciling, before: Before) {
  const knowsAll = !(await restoredSince(tx, before))
  await bringOver(tx, before)
  await bringEvents(tx, before)
  await bringDays(tx, before)
  for (const id of await activeIds(tx)) {
    const known = await knownBefore(before, id)
    if (known) await catchUp(tx, id, known)
    else await giveUp(tx, id, work)
  }
  return { ...(await takeOverOpenEnds(tx, before, work.dataDir)), knowsAll }
}

async function forgetLostHalves(tx: Tx, { dataDir, unpacked }: Reconciling): Promise<void> {
  for (const { path, position } of await halfFiles(tx)) {
    const lies = path.startsWith(`${dataDir}/`) ? join(unpacked, path.slice(dataDir.length + 1)) : path
    const found = await stat(lies).catch(() => undefined)
    if ((found?.size ?? -1) < position) await forgetHalfFile(tx, path)
  }
}

async function giveUp(tx: Tx, id: string, { manifest, now }: Reconciling): Promise<void> {
  const transfer = await findTransfer(tx, id)
  if (!transfer || waitsForReceipts(transfer)) return
  const since = new Date(manifest.madeAt).toISOString()
  const message =
    transfer.direction === 'EMISION'
      ? `restored from a backup of ${since}: the partner may have it since; retry sends it, reset gives it up`
      : `restored from a backup of ${since}: the partner sends again what it has no receipt for`
  await moveTransfer(tx, id, {
    from: transfer.state,
    to: 'FAILED',
    now,
    error: { message, code: 'restored' },
  })
  await addHistory(tx, transfer.channelCode, [
    { at: now, event: 'TRANSFER_FAILED', detail: `${id}: ${message}` },
  ])
}

function waitsForReceipts({ direction, files, receiptsUntil }: TransferRecord): boolean {
  const there = files.every(({ phase }) => phase === 'ARRIVED' || phase === 'DONE')
  return direction === 'EMISION' && receiptsUntil !== null && there
}

/** Files that a partner would find when it calls. */
async function holdWaiting(tx: Tx, { now }: Reconciling): Promise<void> {
  for (const file of await allWaitingFiles(tx)) {
    const { channelCode, path, name, size, modifiedAt } = file
    await holdInOutbox(tx, {
      id: newId(now),
      channelCode,
      path,
      name,
      size,
      modifiedAt,
      outboxId: file.id,
      heldAt: now,
    })
  }
}

async function holdLying(
  tx: Tx,
  { fileRoots, manifest, now, warn }: Reconciling,
  channel: ChannelRecord,
  before: Before | undefined,
): Promise<void> {
  const { code } = channel
  const found = await findSendSet(channel.config, fileRoots, now).catch((thrown: unknown) => {
    warn(`channel ${code}: nothing could be held, see to it before a node starts: ${messageOf(thrown)}`)
  })
  const isHeld = await heldIn(tx, code)
  for (const file of found?.files ?? []) {
    if (isHeld(file)) continue
    if (await isKnownSent(tx, code, file)) continue
    if (before && !(await mayBeTaken(tx, before, code, file, manifest.madeAt))) continue
    const { path, name, size, modifiedAt } = file
    await holdFile(tx, {
      id: newId(now),
      channelCode: code,
      path,
      name,
      size,
      modifiedAt,
      outboxId: null,
      heldAt: now,
    })
  }
}

/** Where it can no longer be read, too. */
async function mayBeTaken(
  tx: Tx,
  before: Before,
  code: string,
  file: Candidate,
  since: number,
): Promise<boolean> {
  return tryInside(tx, () => takenSince(before, code, file, since)).catch(() => true)
}

async function isKnownSent(tx: Tx, code: string, file: Candidate): Promise<boolean> {
  const hashes = await sentHashes(tx, code, file.name, file.size)
  return hashes.length > 0 && hashes.includes(await hashFile(file.path))
}
