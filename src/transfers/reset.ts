// Reset: pending and running transfers become CANCELLED, and errors are cleared. This is durable first. After the
// commit the nodes that run the transfers are told to stop them. A node that misses the message finds out at its next
// write.

import { addHistory, lockChannel } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import type { HistoryEntry } from '../store/channels.ts'
import type { Store, Tx } from '../store/database/store.ts'
import { endFetchPause, endPause } from '../store/automation-runs.ts'
import { lastUnsettled, settleAll } from '../store/transfers/failures.ts'
import { activeTransfers, moveTransfer } from '../store/transfers/transfers.ts'

/** `cancelled` were pending or running. `settled` is the latest failure that it dealt with. */
export type ResetDone = { cancelled: string[]; settled: string | undefined }

export async function resetChannel(
  store: Store,
  channel: ChannelRecord,
  now: number,
  by: string,
  /** Told in the same transaction; gives the entry of the audit trail. */
  audited?: (tx: Tx, cancelled: readonly string[]) => Promise<string>,
): Promise<ResetDone> {
  return store.write(async (tx) => {
    await lockChannel(tx, store.dialect, channel.code)
    await endPause(tx, channel.code)
    await endFetchPause(tx, channel.code)
    const settled = (await lastUnsettled(tx, channel.code))?.id
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
    return { cancelled, settled }
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
