// Removes what is left of a transfer that a reset has dealt with: of one that was cancelled while no node ran it (it
// waited for its next attempt, or its node is dead), and of all failures of the channel. That is their wire forms in the
// data folder, and their half files at the partner's end where that needs no call. A transfer that is running is cleared
// by its runner.

import { findTransfer } from '../../store/transfers/transfers.ts'
import type { EngineContext } from '../engine-context.ts'
import { clearUnneeded } from './leftovers.ts'
import { clearPartnersEnd } from './partner-leftovers.ts'
import type { Transports } from './partner-leftovers.ts'

export async function clearCancelled(
  context: EngineContext,
  transports: Transports,
  transferId: string,
): Promise<void> {
  const transfer = await findTransfer(context.store.db, transferId)
  const dealtWith = transfer?.state === 'CANCELLED' || (transfer?.state === 'FAILED' && transfer.settled)
  if (transfer && !dealtWith) return
  await context.staging.clear(transferId)
  if (transfer?.state === 'FAILED') await clearUnneeded(context)
  // Never claimed: nothing was tried.
  if (transfer?.direction !== 'EMISION' || transfer.fence === 0) return
  await clearPartnersEnd(context, transports, transfer.channelCode)
}
