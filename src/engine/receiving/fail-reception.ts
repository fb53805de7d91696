// The end of a reception that failed: FAILED, history, receipt where one is owed, exception script.

import { NodeError, messageOf } from '../../errors.ts'
import { addHistory } from '../../store/channels.ts'
import { moveTransfer } from '../../store/transfers/transfers.ts'
import { runStep } from '../actions/script-steps.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { owe } from './owe-receipt.ts'

/** True: the row says so now, and we wrote it. Then nobody else will touch the files. */
export async function failReception(
  running: RunningTransfer,
  reason: unknown,
  owesReceipts = false,
): Promise<boolean> {
  const { context, transfer, held, plan } = running
  if (reason instanceof NodeError && (reason.code === 'cancelled' || reason.code === 'lease_lost'))
    return false
  // The database did not answer. Whoever claims the transfer next will see how far it got.
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
