// Reset: pending and running transfers become CANCELLED, and errors are cleared. This is durable first. After the
// commit the nodes that run the transfers are told to stop them. A node that misses the message finds out at its next
// write.

import { addHistory, lockChannel } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import type { HistoryEntry } from '../store/channels.ts'
import type { Store, Tx } from '../store/database/store.ts'
import { settleAll } from '../store/transfers/failures.ts'
import { activeTransfers, moveTransfer } from '../store/transfers/transfers.ts'

/** Ids of the transfers that were cancelled. */
export async function resetChannel(
  store: Store,
  channel: ChannelRecord,
  now: number,
  by: string,
  /** Told in the same transaction; gives the entry of the audit trail. */
  audited?: (tx: Tx, cancelled: readonly string[]) => Promise<string>,
): Promise<string[]> {
  return store.write(async (tx) => {
    await lockChannel(tx, store.dialect, channel.code)
    await settleAll(tx, channel.code)
    const cancelled = await cancelActive(tx, channel.code, now, by)
    const entries: HistoryEntry[] = cancelled.map((id) => ({
      at: now,
      event: 'TRANSFER_CANCELLED',
      detail: id,
    }))
    const auditId = await audited?.(tx, cancelled)
    const first: HistoryEntry = { at: now, event: 'CHANNEL_RESET', detail: `by ${by}`, auditId }
    await addHistory(tx, channel.code, [first, ...entries])
    return cancelled
  })
}

async function cancelActive(tx: Tx, code: string, now: number, by: string): Promise<string[]> {
  const cancelled: string[] = []
  for (const { id, state } of await activeTransfers(tx, code)) {
    const error = { message: `cancelled by a reset of ${by}`, code: 'cancelled' }
    if (await moveTransfer(tx, id, { from: state, to: 'CANCELLED', now, error })) cancelled.push(id)
  }
  return cancelled
}
