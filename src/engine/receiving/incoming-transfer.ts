// A reception as a transfer: its beginning, the placing of its whole files, its end. Used by the session that brings a
// file in, and by a runner that finds a reception whose node died after the file was whole.

import { copyFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError, messageOf } from '../../errors.ts'
import { ensureFolder, exists, isPlaced, placeFile, stampedName } from '../../files/place.ts'
import { requireConfined } from '../../files/roots.ts'
import { addHistory, lockChannel } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { newId } from '../../store/database/ids.ts'
import { requireHeld, setSnapshot, updateFile } from '../../store/transfers/leases.ts'
import type { Held } from '../../store/transfers/leases.ts'
import type { Tx } from '../../store/database/open.ts'
import {
  findReceived,
  oweReceipt,
  putHalfFile,
  putReceived,
  removeHalfFile,
} from '../../store/transfers/receptions.ts'
import type { FileKey } from '../../store/transfers/receptions.ts'
import { findTransfer, insertTransfer, moveTransfer } from '../../store/transfers/transfers.ts'
import { placesOf } from '../sending/send-files.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import type { Inbound } from './route-offer.ts'
import { snapshotOf } from '../transfer-plan.ts'
import { moveOriginal } from '../actions/post-action.ts'
import { runStep } from '../actions/script-steps.ts'
import { namesOneFile } from '../transports/transport.ts'
import type { Offer } from '../transports/transport.ts'
import { SUITE } from '../staging/wire-form.ts'
import { receivedPath } from '../staging/staging.ts'
import type { EngineContext } from '../engine-context.ts'

/** A transfer that is IN_PROGRESS and ours from its first moment. */
export async function beginReception(
  context: EngineContext,
  channel: ChannelRecord,
  file: TransferFileRecord,
  offer: Offer,
  path: string,
) {
  const now = context.now()
  const id = newId(now)
  const held: Held = { id, fence: 1 }
  const key = keyOf(channel.code, file)
  await context.store.write(async (tx) => {
    await lockChannel(tx, context.store.dialect, channel.code)
    await insertTransfer(tx, {
      id,
      channelCode: channel.code,
      direction: 'RECEPCION',
      type: offer.admitted ? 'REMOTE' : 'AUTOMATIC',
      requestedBy: null,
      retryOf: null,
      now,
      files: [file],
    })
    // Only now is it certain that no transfer under way is about to record it.
    if (namesOneFile(key) && (await findReceived(tx, key)))
      throw new NodeError('duplicate_file', `${file.name} was received before`)
    if (key.date !== '') await putHalfFile(tx, key, { path, position: file.position }, now)
    await tx
      .updateTable('transfer')
      .set({ fence: 1, lease_owner: context.owner, lease_until: now + context.leaseMs })
      .where('id', '=', id)
      .execute()
    await moveTransfer(tx, id, {
      from: 'PENDING',
      to: 'IN_PROGRESS',
      now,
      fence: 1,
      encryption: offer.encryptedSession || offer.envelope?.encrypted === true,
    })
    await setSnapshot(tx, held, snapshotOf(channel))
    await addHistory(tx, channel.code, [{ at: now, event: 'TRANSFER_STARTED', detail: id }])
  })
  const transfer = await findTransfer(context.store.db, id)
  if (!transfer) throw new NodeError('not_found', `channel ${channel.code} was removed`)
  transfer.files = [file]
  return { transfer, held }
}

function keyOf(channelCode: string, file: TransferFileRecord): FileKey {
  return { channelCode, name: file.keyName, date: file.keyDate, time: file.keyTime }
}

/** WHOLE with a chosen name, then linked to it. After a crash the same function settles how far it got. */
export async function placeWhole(
  running: RunningTransfer,
  file: TransferFileRecord,
  from: string,
  { directory }: Pick<Inbound, 'directory'>,
): Promise<void> {
  const { context, held, plan, transfer } = running
  const folder = directory.filePath ?? ''
  await ensureInbound(folder, context)
  const digits = plan.channel.connection?.advancedConfigurationTransmission?.stampLength ?? 0
  const mayRename = plan.channel.integrations?.postReceptionRename === true
  for (let nth = 0; ; nth++) {
    const target =
      nth === 0 && file.phase === 'WHOLE' ? file.path : join(folder, nameFor(file.name, digits, nth, context))
    // What is ours to place is taken away only once it is in place, wherever its reader has put it since.
    if (file.phase === 'WHOLE' && nth === 0 && !(await exists(from))) return
    if (file.phase === 'WHOLE' && (await isPlaced(from, target, expectedOf(file))))
      return rm(from, { force: true })
    const changes = {
      phase: 'WHOLE',
      path: target,
      size: file.size,
      hash: file.hash,
      wire_hash: file.wireHash,
      staged_path: from,
      position: file.position,
    } as const
    await context.store.write(async (tx) => {
      await requireHeld(tx, context.store.dialect, held)
      await updateFile(tx, held, file.index, changes)
      // From here on nobody may go on writing it.
      await removeHalfFile(tx, keyOf(transfer.channelCode, file), receivedPath(from))
    })
    Object.assign(file, { phase: 'WHOLE', path: target, stagedPath: from })
    try {
      return await placeFile(from, target)
    } catch (thrown) {
      if (!(thrown instanceof NodeError)) throw thrown
      // Whoever held it before us may have woken up and be a step ahead, doing the same.
      if (thrown.code === 'file_missing' && held.fence > 1 && !(await exists(from))) return
      if (thrown.code === 'name_taken' && (await isPlaced(from, target, expectedOf(file))))
        return rm(from, { force: true })
      if (thrown.code !== 'name_taken' || !mayRename || nth > 99) throw thrown
    }
  }
}

function expectedOf({ size, hash }: TransferFileRecord) {
  return { size: size ?? 0, sha256: hash ?? '' }
}

/** In place, with the memory against receiving it again; then nothing of it is needed in the data folder. */
export async function recordPlaced(
  { context, held, transfer }: RunningTransfer,
  file: TransferFileRecord,
  received: string,
): Promise<void> {
  const key = keyOf(transfer.channelCode, file)
  await context.store.write(async (tx) => {
    await requireHeld(tx, context.store.dialect, held)
    await updateFile(tx, held, file.index, { phase: 'PLACED', position: file.position })
    if (namesOneFile(key)) await putReceived(tx, key, transfer.id, file.position)
    await removeHalfFile(tx, key, received)
  })
  file.phase = 'PLACED'
  await rm(received, { force: true })
}

/** The first try takes the name as the channel wants it; further ones add a stamp of the moment. */
function nameFor(name: string, digits: number, nth: number, context: EngineContext): string {
  return nth === 0
    ? stampedName(name, digits, context.now(), context.zone)
    : stampedName(name, 17, context.now(), context.zone, nth - 1)
}

async function ensureInbound(folder: string, context: EngineContext): Promise<void> {
  requireConfined(folder, context.roots.fileRoots)
  await ensureFolder(folder)
}

export async function quarantine(
  context: EngineContext,
  transferId: string,
  name: string,
  path: string,
): Promise<void> {
  const target = await context.staging.quarantine(transferId, name)
  await rename(path, target).catch(() => copyFile(path, target))
  context.log.warn({ transfer: transferId, path: target }, 'a received file is in quarantine')
}

/** Post-action, receipt, end. Also where a node goes on that took over a reception that was whole. */
export async function finishReception(running: RunningTransfer, owesReceipts: boolean): Promise<void> {
  const { context, transfer, held } = running
  try {
    for (const file of transfer.files) if (file.phase === 'PLACED') await actOnReceived(running, file)
    const now = context.now()
    await context.store.write(async (tx) => {
      await requireHeld(tx, context.store.dialect, held)
      await moveTransfer(tx, transfer.id, { from: 'IN_PROGRESS', to: 'COMPLETED', now, fence: held.fence })
      if (owesReceipts) for (const file of transfer.files) await owe(running, file, tx, undefined)
      await addHistory(tx, transfer.channelCode, [
        { at: now, event: 'TRANSFER_COMPLETED', detail: transfer.id },
      ])
    })
    context.publish({
      kind: 'state',
      transferId: transfer.id,
      channelCode: transfer.channelCode,
      direction: 'RECEPCION',
      status: 'COMPLETED',
      at: now,
    })
  } catch (thrown) {
    await failReception(running, thrown, owesReceipts)
  }
}

async function actOnReceived(running: RunningTransfer, file: TransferFileRecord): Promise<void> {
  const { context, plan, held } = running
  const {
    postReceptionAction: action,
    postReceptionDirectory,
    postReceptionFile,
    postReceptionRename,
  } = plan.channel.integrations ?? {}
  let pathPost: string | null = null
  if (action === 'RECEPTION_MOVE' && postReceptionDirectory && file.path !== '')
    pathPost = await moveReceived(running, file, postReceptionDirectory, postReceptionRename === true)
  if (action === 'RECEPTION_EXECUTE' && postReceptionFile)
    await runStep(running, 'postReception', postReceptionFile, file)
  await context.store.write(async (tx) => {
    await requireHeld(tx, context.store.dialect, held)
    await updateFile(tx, held, file.index, {
      phase: 'DONE',
      action_post: action ?? null,
      path_post: pathPost,
    })
  })
  Object.assign(file, { phase: 'DONE', actionPost: action ?? null, pathPost })
}

async function moveReceived(
  running: RunningTransfer,
  file: TransferFileRecord,
  directory: string,
  rename: boolean,
): Promise<string> {
  const now = await stat(file.path).catch(() => undefined)
  const modifiedAt = now ? Math.floor(now.mtimeMs) : null
  const original = { path: file.path, size: file.size, hash: file.hash, modifiedAt }
  return moveOriginal(original, { directory, rename, ...placesOf(running) })
}

/** The receipt is hashed and signed as the file was: the length of the hash tells by what. */
const SUITE_BY_HASH: Record<number, string> = { 40: '02', 64: '04', 128: '06' }

async function owe(
  running: RunningTransfer,
  file: TransferFileRecord,
  tx: Tx,
  error: unknown,
): Promise<void> {
  const { plan, context } = running
  const receipt = {
    key: { name: file.keyName, date: file.keyDate, time: file.keyTime },
    positive: error === undefined,
    reason: error === undefined ? '' : messageOf(error),
    reasonCode: error === undefined ? '' : '34',
    hash: file.wireHash ?? undefined,
    signed: plan.security.rsaLocalKey !== undefined,
    originator: plan.remoteId,
    destination: plan.localId,
    suite: SUITE_BY_HASH[file.wireHash?.length ?? 0] ?? SUITE,
    channelCode: plan.code,
  }
  await oweReceipt(tx, plan.contact.id, receipt, context.now())
}

/** True when that is what the row says now, and by our hand: nobody else will touch its files. */
export async function failReception(
  running: RunningTransfer,
  reason: unknown,
  owesReceipts = false,
): Promise<boolean> {
  const { context, transfer, held, plan } = running
  if (reason instanceof NodeError && (reason.code === 'cancelled' || reason.code === 'lease_lost'))
    return false
  // The database did not answer: the next claim knows better how far it got than we do.
  if (reason instanceof NodeError && reason.code === 'unavailable' && !context.stopping.aborted) return false
  const now = context.now()
  const error = { message: messageOf(reason), code: reason instanceof NodeError ? reason.code : 'internal' }
  const moved = await context.store.write(async (tx) => {
    const done = await moveTransfer(tx, transfer.id, {
      from: 'IN_PROGRESS',
      to: 'FAILED',
      now,
      fence: held.fence,
      error,
    })
    if (!done) return false
    if (owesReceipts) for (const file of transfer.files) await owe(running, file, tx, reason)
    await addHistory(tx, transfer.channelCode, [
      { at: now, event: 'TRANSFER_FAILED', detail: `${transfer.id}: ${error.message}` },
    ])
    return true
  })
  if (!moved) return false
  context.log.warn(
    { transfer: transfer.id, channel: transfer.channelCode, code: error.code, err: reason },
    'a reception failed',
  )
  context.publish({
    kind: 'state',
    transferId: transfer.id,
    channelCode: transfer.channelCode,
    direction: 'RECEPCION',
    status: 'FAILED',
    error: error.message,
    at: now,
  })
  const script = plan.channel.integrations?.exceptionFile
  if (script)
    await runStep(
      { ...running, signal: AbortSignal.timeout(context.scriptMs) },
      'exception',
      script,
      undefined,
      error.message,
    ).catch(() => {})
  return true
}
