// Cancels one transfer that waits or runs. It is durable first; then whoever runs it is told.

import { NodeError } from '../errors.ts'
import { isOver } from '../domain/transfer.ts'
import { addHistory, lockChannel } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import type { Store, Tx } from '../store/database/store.ts'
import { findTransfer, moveTransfer } from '../store/transfers/transfers.ts'

export type Cancelling = {
  channel: ChannelRecord
  transferId: string
  now: number
  by: string
  comment: string | undefined
  /** Told in the same transaction; gives the entry of the audit trail. */
  audited: (tx: Tx) => Promise<string>
}

export async function cancelTransfer(store: Store, asked: Cancelling): Promise<void> {
  const { channel, transferId, now, by, comment, audited } = asked
  await store.write(async (tx) => {
    await lockChannel(tx, store.dialect, channel.code)
    const transfer = await findTransfer(tx, transferId)
    if (!transfer || isOver(transfer.state))
      throw new NodeError(
        'conflict',
        `transfer ${transferId} is ${transfer?.state ?? 'gone'}: nothing to cancel`,
      )
    const message = `cancelled by ${by}${comment === undefined ? '' : `: ${comment}`}`
    const error = { message, code: 'cancelled' }
    if (!(await moveTransfer(tx, transferId, { from: transfer.state, to: 'CANCELLED', now, error })))
      throw new NodeError('conflict', `transfer ${transferId} has just changed: look again`)
    const auditId = await audited(tx)
    await addHistory(tx, channel.code, [
      { at: now, event: 'TRANSFER_CANCELLED', detail: transferId, auditId },
    ])
  })
}
