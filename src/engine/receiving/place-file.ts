// Puts a whole file in place under its real name, and records that it is there. Used by the session that brings the
// file in, and by whoever takes over a reception whose node died after the file was whole.

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { ensureFolder, exists, isPlaced, placeStaged, stampedName } from '../../files/place.ts'
import { fileRootsOf } from '../../domain/file-roots.ts'
import { requireConfined } from '../../files/roots.ts'
import { requireHeld, updateFile } from '../../store/transfers/leases.ts'
import { putReceived, removeHalfFile } from '../../store/transfers/receptions.ts'
import type { EngineContext } from '../engine-context.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { receivedPath } from '../staging/staging.ts'
import { namesOneFile } from '../transports/transport.ts'
import { hasAction, recordDone } from './finish-file.ts'
import { fileKeyOf } from './incoming-record.ts'
import type { Inbound } from './route-offer.ts'

/** Chooses a name, records WHOLE, then links the file to the name. Called again after a crash, it goes on from there. */
export async function placeWhole(
  running: RunningTransfer,
  file: TransferFileRecord,
  from: string,
  { directory }: Pick<Inbound, 'directory'>,
): Promise<void> {
  const { context, held, plan, transfer } = running
  const folder = directory.filePath ?? ''
  await ensureInbound(folder, fileRootsOf(context.roots.fileRoots, plan.localRoots))
  const digits = plan.channel.connection?.advancedConfigurationTransmission?.stampLength ?? 0
  const mayRename = plan.channel.integrations?.postReceptionRename === true
  for (let nth = 0; ; nth++) {
    const target =
      nth === 0 && file.phase === 'WHOLE' ? file.path : join(folder, nameFor(file.name, digits, nth, context))
    // `from` is removed only after the file is in place. If it is gone, the file was placed, wherever it lies now.
    if (file.phase === 'WHOLE' && nth === 0 && !(await exists(from))) return
    if (file.phase === 'WHOLE' && (await isPlaced(from, target, expectedOf(file))))
      return rm(from, { force: true })
    const changes = {
      phase: 'WHOLE',
      name: file.name,
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
      await removeHalfFile(tx, fileKeyOf(transfer.channelCode, file), receivedPath(from))
    })
    Object.assign(file, { phase: 'WHOLE', path: target, stagedPath: from })
    try {
      return await placeStaged(from, target)
    } catch (thrown) {
      if (!(thrown instanceof NodeError)) throw thrown
      // The holder before us may have woken up and done the same a moment ago.
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
  await context.store.write(async (tx) => {
    await requireHeld(tx, context.store.dialect, held)
    if (phase === 'DONE') await recordDone(tx, running, file, { pathPost: null, owesReceipts })
    else await updateFile(tx, held, file.index, { phase, position: file.position })
    if (namesOneFile(key)) await putReceived(tx, key, transfer.id, file.position)
    await removeHalfFile(tx, key, received)
  })
  file.phase = phase
  await rm(received, { force: true })
}

/** The first try takes the name that the channel wants. Further tries add the time. */
function nameFor(name: string, digits: number, nth: number, context: EngineContext): string {
  return nth === 0
    ? stampedName(name, digits, context.now(), context.zone)
    : stampedName(name, 17, context.now(), context.zone, nth - 1)
}

async function ensureInbound(folder: string, fileRoots: readonly string[]): Promise<void> {
  requireConfined(folder, fileRoots)
  await ensureFolder(folder)
}
