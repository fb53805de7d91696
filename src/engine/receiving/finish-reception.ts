// The end of a reception whose files are in place: post-action, receipt, COMPLETED.

import { stat } from 'node:fs/promises'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { addHistory } from '../../store/channels.ts'
import { requireHeld, updateFile } from '../../store/transfers/leases.ts'
import { moveTransfer } from '../../store/transfers/transfers.ts'
import { moveOriginal, placesOf } from '../actions/post-action.ts'
import { runStep } from '../actions/script-steps.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { failReception } from './fail-reception.ts'
import { owe } from './owe-receipt.ts'

/** Also called by a node that takes over a reception whose files were whole. */
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
  if (action === 'RECEPTION_MOVE' && postReceptionDirectory && file.content === 'FILE')
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
