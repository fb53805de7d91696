// Puts a whole file in place under its real name, and records that it is there. Used by the session that brings the
// file in, and by whoever takes over a reception whose node died after the file was whole.

import { unlinkSync } from 'node:fs'
import { lstat, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError, fromFileError, systemCode } from '../../errors.ts'
import { syncFolder } from '../../files/folder-sync.ts'
import { hashFile } from '../../files/hash.ts'
import {
  ensureFolderHere,
  exists,
  ifThere,
  isPlaced,
  markOf,
  placeMarked,
  stampedName,
  syncFile,
} from '../../files/place.ts'
import { fileRootsOf } from '../../domain/file-roots.ts'
import { requireConfined } from '../../files/roots.ts'
import type { Tx } from '../../store/database/store.ts'
import { updateFile } from '../../store/transfers/leases.ts'
import { putReceived, removeHalfFile } from '../../store/transfers/receptions.ts'
import { insertFiles } from '../../store/transfers/transfers.ts'
import type { EngineContext } from '../engine-context.ts'
import { writeHeld } from '../held-writes.ts'
import { runStep } from '../actions/script-steps.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { isQuick, receivedPath } from '../staging/staging.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import { namesOneFile } from '../transports/transport.ts'
import type { Offer } from '../transports/transport.ts'
import { hasAction, recordDone } from './finish-file.ts'
import { fileKeyOf, requireNew } from './incoming-record.ts'
import type { Inbound } from './route-offer.ts'

/** Files up to this size go the short way: thousands of them come at once. */
const QUICK_OCTETS = 1024 * 1024

/** A partner's estimate counts blocks of so many, and the last one may be short. */
const BLOCK = 1024

/** The most that a small file may have with which nothing is to be done: it goes the short way, see `placeWhole`. */
export function quickOctets(offer: Offer, plan: TransferPlan, file: TransferFileRecord): number | undefined {
  const { estimate = Number.POSITIVE_INFINITY, size = estimate + BLOCK - 1, provisional = false, key } = offer
  const { preReceptionFile } = plan.channel.integrations ?? {}
  const plain = file.content === 'FILE' && !preReceptionFile && !hasAction(plan, file)
  return size <= QUICK_OCTETS && !provisional && key.date !== '' && plain ? size : undefined
}

/** How far a file is that has just come, beyond what a row says. */
export type JustCome = {
  /** False: the row that says WHOLE is its first. */
  written: boolean
  /** There is a row for what has come of it, from before it was whole. */
  half: boolean
  /** It is there under its real name, whether or not that is on the disk and written down. */
  placed: boolean
}

/** The channel's own script. If it has changed the file, what it made is what is placed, and recorded with size and hash. */
export async function runBeforePlacing(
  running: RunningTransfer,
  file: TransferFileRecord,
  path: string,
): Promise<void> {
  const script = running.plan.channel.integrations?.preReceptionFile
  if (!script) return
  const before = await stat(path, { bigint: true })
  const { name, size, hash } = file
  await runStep(running, 'preReception', script, { name, path, size, hash })
  const after = await ifThere(lstat(path, { bigint: true }), path)
  // A link would be placed as a link, and a pipe would hold up whoever opens it.
  if (!after?.isFile())
    throw new NodeError('script_failed', `script ${script} has removed the file, or left no regular file`)
  if (after.ino === before.ino && after.size === before.size && after.ctimeNs === before.ctimeNs) return
  try {
    await syncFile(path)
    Object.assign(file, { size: Number(after.size), hash: await hashFile(path) })
  } catch (thrown) {
    throw fromFileError(thrown, 'the received file')
  }
}

/**
 * Chooses a name, records WHOLE, then links the file to the name. Called again after a crash, it goes on from there. The
 * octets and their name in the data folder are on the disk by then. The sync of the folder that a small file (isQuick) is
 * linked into, and its last row, come after the acknowledgement, for many files together (Settling).
 *
 * Until that row is written the old name, as a mark, says that the file was placed: a node that takes over after a crash
 * neither misses it nor places it twice, even if somebody has taken it by then.
 */
export async function placeWhole(
  running: RunningTransfer,
  file: TransferFileRecord,
  from: string,
  { directory }: Pick<Inbound, 'directory'>,
  justCome?: JustCome,
): Promise<void> {
  const { context, held, plan } = running
  const folder = directory.filePath ?? ''
  ensureInbound(folder, fileRootsOf(context.roots.fileRoots, plan.localRoots))
  if (!justCome && (await wasPlaced(file, from))) return
  const digits = plan.channel.connection?.advancedConfigurationTransmission?.stampLength ?? 0
  const mayRename = plan.channel.integrations?.postReceptionRename === true
  for (let nth = 0; ; nth++) {
    const target =
      nth === 0 && file.phase === 'WHOLE' ? file.path : join(folder, nameFor(file.name, digits, nth, context))
    // The old name goes only after the file is in place. If it is gone, the file was placed, wherever it lies now.
    if (file.phase === 'WHOLE' && nth === 0 && !(await exists(from))) return
    if (file.phase === 'WHOLE' && (await isPlaced(from, target, expectedOf(file)))) return letGo(from, folder)
    await recordWhole(running, file, from, target, justCome)
    Object.assign(file, { phase: 'WHOLE', path: target, stagedPath: from })
    try {
      await placeMarked(from, target, () => {
        if (justCome) justCome.placed = true
      })
      if (!isQuick(from)) await syncFolder(folder)
      return
    } catch (thrown) {
      if (!(thrown instanceof NodeError)) throw thrown
      const isTaken = thrown.code === 'name_taken'
      // The holder before us may have woken up and done the same a moment ago; the file may even be gone again. What has
      // just come had none.
      const mayBePlaced = !justCome && held.fence > 1 && (isTaken || thrown.code === 'file_missing')
      if (mayBePlaced && !(await exists(from))) return
      if (isTaken && (await isPlaced(from, target, expectedOf(file)))) return letGo(from, folder)
      if (!isTaken || !mayRename || nth > 99) throw thrown
    }
  }
}

/** An earlier try has put it in place, and may be marking it now. */
async function letGo(from: string, folder: string): Promise<void> {
  await syncFolder(folder)
  await rename(from, markOf(from)).catch((thrown: unknown) => {
    if (systemCode(thrown) !== 'ENOENT') throw thrown
  })
}

/**
 * Whether the mark says so, for a file whose row was found. Throws if the octets of a small one are not there: an earlier
 * version has written its row a moment before them, and another node may have taken them for a stray. Nobody was told then
 * that it is here.
 */
async function wasPlaced(file: TransferFileRecord, from: string): Promise<boolean> {
  // The bytes before the mark: the holder before us may wake up and make the one of the other at any moment.
  const sha256 = isQuick(from) ? await hashFile(from).catch(() => undefined) : file.hash
  if (await exists(markOf(from))) {
    await syncFolder(dirname(file.path))
    return true
  }
  if (sha256 === file.hash) return false
  throw new NodeError('connection_lost', `${file.name}: the node stopped while it was received`)
}

async function recordWhole(
  { context, held, transfer }: RunningTransfer,
  file: TransferFileRecord,
  from: string,
  target: string,
  justCome: JustCome | undefined,
): Promise<void> {
  const key = fileKeyOf(transfer.channelCode, file)
  const { written = true, half = true } = justCome ?? {}
  const whole = { phase: 'WHOLE', path: target } as const
  await writeHeld(context.store, held, async (tx) => {
    if (written)
      await updateFile(tx, held, file.index, {
        ...whole,
        name: file.name,
        size: file.size,
        hash: file.hash,
        wire_hash: file.wireHash,
        staged_path: from,
        position: file.position,
      })
    else {
      await requireNew(tx, key)
      await insertFiles(tx, transfer.id, [{ ...file, ...whole, stagedPath: from }])
    }
    // From here on nobody may go on writing it.
    if (half) await removeHalfFile(tx, key, receivedPath(from))
  })
  if (justCome) justCome.written = true
}

function expectedOf({ size, hash }: TransferFileRecord) {
  return { size: size ?? 0, sha256: hash ?? '' }
}

/**
 * Records PLACED, or DONE where nothing is to be done with it, and remembers the file so that it is not received again.
 * Then removes the received bytes.
 */
export async function recordPlaced(
  running: RunningTransfer,
  file: TransferFileRecord,
  received: string,
  owesReceipts: boolean,
): Promise<void> {
  const { context, held, transfer, plan } = running
  const key = fileKeyOf(transfer.channelCode, file)
  const phase = hasAction(plan, file) ? 'PLACED' : 'DONE'
  const write = async (tx: Tx) => {
    if (phase === 'DONE') await recordDone(tx, running, file, { pathPost: null, owesReceipts })
    else await updateFile(tx, held, file.index, { phase, position: file.position }, file)
    if (namesOneFile(key)) {
      const { position: size, wireHash } = file
      await putReceived(tx, key, { transferId: transfer.id, size, wireHash })
    }
    if (!isQuick(received)) await removeHalfFile(tx, key, received)
  }
  await writeHeld(context.store, held, write)
  file.phase = phase
  const from = file.stagedPath ?? received
  if (from !== received) await rm(received, { force: true })
  removeMark(from)
}

/** Here and at once, as it was made. */
function removeMark(from: string): void {
  try {
    unlinkSync(markOf(from))
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENOENT') throw thrown
  }
}

/** The first try takes the name that the channel wants. Further tries add the time. */
function nameFor(name: string, digits: number, nth: number, context: EngineContext): string {
  return nth === 0
    ? stampedName(name, digits, context.now(), context.zone)
    : stampedName(name, 17, context.now(), context.zone, nth - 1)
}

function ensureInbound(folder: string, fileRoots: readonly string[]): void {
  requireConfined(folder, fileRoots)
  ensureFolderHere(folder)
}
