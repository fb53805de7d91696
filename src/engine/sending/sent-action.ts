// The post-action of a file that was sent: it is deleted, moved, or a script runs.

import { rm } from 'node:fs/promises'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { deleteOriginal, moveOriginal, placesOf } from '../actions/post-action.ts'
import { runStep } from '../actions/script-steps.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { record, remember } from './file-record.ts'

/** The post-action, for a file that is known to have arrived. */
export async function actOnSent(running: RunningTransfer, file: TransferFileRecord): Promise<void> {
  const { plan } = running
  const {
    postEmisionAction: action,
    postEmisionDirectory,
    postEmisionFile,
    postEmisionRename,
  } = plan.channel.integrations ?? {}
  let pathPost: string | null = null
  if (file.content === 'FILE') {
    if (action === 'EMISION_DELETE') await deleteOriginal(file)
    if (action === 'EMISION_MOVE' && postEmisionDirectory)
      pathPost = await moveOriginal(file, {
        directory: postEmisionDirectory,
        rename: postEmisionRename === true,
        ...placesOf(running),
      })
    if (action === 'EMISION_EXECUTE' && postEmisionFile)
      await runStep(running, 'postEmision', postEmisionFile, file)
  }
  await record(running, file, { phase: 'DONE', actionPost: action ?? null, pathPost }, (tx) =>
    remember(running, file, tx),
  )
  if (file.stagedPath !== null) await rm(file.stagedPath, { force: true })
}

/** The partner holds it, and has not said that it was delivered. */
export function isUnconfirmed({ phase, receipt }: TransferFileRecord): boolean {
  return phase === 'ARRIVED' && (receipt === 'AWAITED' || receipt === 'NEGATIVE')
}

/** Its receipt came, though the line broke before the partner said that it holds the file: it is not offered again. */
export function isConfirmed({ maybeVisible, receipt }: TransferFileRecord): boolean {
  return maybeVisible && receipt === 'POSITIVE'
}
