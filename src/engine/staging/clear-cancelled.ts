// Removes what is left of a transfer that was reset while no node ran it: it waited for its next attempt, or its node is
// dead. That is its wire forms in the data folder, and its half files at the partner's end where that needs no call. A
// transfer that is running is cleared by its runner.

import { findChannel } from '../../store/channels.ts'
import { findTransfer } from '../../store/transfers/transfers.ts'
import { makeTransferPlan, snapshotOf } from '../transfer-plan.ts'
import type { Transport } from '../transports/transport.ts'
import type { EngineContext } from '../engine-context.ts'

type Transports = ReadonlyMap<string, Transport<never>>

export async function clearCancelled(
  context: EngineContext,
  transports: Transports,
  transferId: string,
): Promise<void> {
  const transfer = await findTransfer(context.store.db, transferId)
  if (transfer && transfer.state !== 'CANCELLED') return
  await context.staging.clear(transferId)
  // Never claimed: nothing was tried.
  if (transfer?.direction !== 'EMISION' || transfer.fence === 0) return
  const channel = await findChannel(context.store.db, transfer.channelCode)
  if (!channel) return
  const { contact, settings } = await makeTransferPlan(context.store.db, context.seal, snapshotOf(channel))
  const keys = transfer.files
    .filter(({ phase }) => phase !== 'DONE')
    .map(({ keyName: name, keyDate: date, keyTime: time }) => ({ name, date, time }))
  const transport = transports.get(contact.protocol)
  await transport?.discard?.((settings[transport.sections.calling] ?? {}) as never, keys) // its own section
}
