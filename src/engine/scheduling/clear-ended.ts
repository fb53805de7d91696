// What a reset has dealt with leaves nothing behind: neither here nor at the partner's end, which is called for that
// where it must be.

import { findChannel } from '../../store/channels.ts'
import { leftBehind } from '../../store/transfers/left-behind.ts'
import { findTransfer } from '../../store/transfers/transfers.ts'
import { clearCancelled } from '../staging/clear-cancelled.ts'
import type { Transports } from '../staging/partner-leftovers.ts'
import { clearWithdrawn, isSpooled } from '../sending/outbox-spool.ts'
import { makeTransferPlan, snapshotOf } from '../transfer-plan.ts'
import { protocolFor } from './run-transfer.ts'
import type { Runner } from './run-transfer.ts'
import { discard } from './sweep.ts'

/** A reset has dealt with the transfer: it was cancelled, or is the latest of failures that are settled now. */
export async function clearEnded(runner: Runner, transports: Transports, transferId: string): Promise<void> {
  const { context, sessions } = runner
  await clearCancelled(context, transports, transferId)
  const transfer = await findTransfer(context.store.db, transferId)
  const channel = transfer && (await findChannel(context.store.db, transfer.channelCode))
  if (transfer?.direction !== 'EMISION' || transfer.fence === 0 || !channel) return
  await clearWithdrawn(context, transferId)
  const plan = await makeTransferPlan(context.store.db, context.seal, snapshotOf(channel))
  const protocol = protocolFor(runner, plan)
  if (!protocol.capabilities.leavesParts || isSpooled(plan, protocol)) return
  if ((await leftBehind(context.store.db, [channel.code])).length === 0) return
  try {
    const lent = await sessions.lend(plan, 0)
    await discard(context, plan, lent.session)
    await lent.giveBack(true)
  } catch (thrown) {
    context.log.info(
      { err: thrown, channel: channel.code },
      'the partner’s inbox is swept before the next emission',
    )
  }
}
