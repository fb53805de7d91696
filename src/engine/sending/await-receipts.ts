// A transfer whose files have gone, as far as they could, and that waits for the partner's receipts. It has no lease
// meanwhile; a receipt, or the deadline, makes it due. Whoever claims it then does for each file what its receipt says: a
// file that is confirmed is remembered and gets its action, whatever becomes of the others.
//
//   1 waiting   the deadline, and with it what the transfer will fail by: the files that did not go are not tried again
//   2 action    of each confirmed file, as its receipt comes, and only then DONE
//   3 over      when all receipts are in, or the deadline has passed: FAILED by what was noted, by a receipt that said no
//               or by one that is missing, in this order; else COMPLETED

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError, toNodeError } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'
import { parkClaim, requireHeld } from '../../store/transfers/leases.ts'
import { receiptsAwaited, setReceiptDeadline } from '../../store/transfers/receipts.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { FailedFiles } from './failed-files.ts'
import { actOnSent, isUnconfirmed } from './sent-action.ts'

/** Gives the lease up. The row is due again at the deadline, or when a receipt comes. */
export async function waitForReceipts(
  { context, transfer, held, plan }: RunningTransfer,
  failure: NodeError | undefined,
): Promise<void> {
  // Never longer than from now on, where the clock was set back meanwhile.
  const until = Math.min(transfer.receiptsUntil ?? Infinity, context.now() + plan.receiptMs)
  await context.store.write(async (tx) => {
    await requireHeld(tx, context.store.dialect, held)
    // All receipts may have come meanwhile: then it is due now.
    const missing = await receiptsAwaited(tx, transfer.id)
    await setReceiptDeadline(tx, transfer.id, until, failure && toNodeError(failure))
    await parkClaim(tx, held, missing ? until : context.now())
  })
}

/** Throws what the transfer fails by. */
export async function settleReceipts(running: RunningTransfer): Promise<'settled' | 'waiting'> {
  const { transfer, context } = running
  const failed = new FailedFiles()
  for (const file of transfer.files)
    if (file.phase === 'ARRIVED' && !isUnconfirmed(file)) await settleFile(running, file, failed)
  const failure = notedFailure(running) ?? failed.failure()
  const missing = transfer.files.find((file) => isUnconfirmed(file) && file.receipt === 'AWAITED')
  if (missing && context.now() < (transfer.receiptsUntil ?? 0)) {
    await waitForReceipts(running, failure)
    return 'waiting'
  }
  const said = failure ?? negative(running) ?? (missing && late(running, missing))
  if (said) throw said
  return 'settled'
}

/** An action that one file alone fails by holds up no other. */
async function settleFile(
  running: RunningTransfer,
  file: TransferFileRecord,
  failed: FailedFiles,
): Promise<void> {
  failed.oneHasGone()
  try {
    await actOnSent(running, file)
  } catch (thrown) {
    failed.add(file, thrown)
    failed.signal.throwIfAborted()
  }
}

function notedFailure({ transfer: { error, errorCode } }: RunningTransfer): NodeError | undefined {
  if (error === null) return undefined
  return new NodeError((errorCode ?? 'internal') as ErrorCode, error) // as waitForReceipts wrote it
}

function negative({ transfer }: RunningTransfer): NodeError | undefined {
  const file = transfer.files.find(({ receipt }) => receipt === 'NEGATIVE')
  if (!file) return undefined
  const why = file.receiptReason ?? 'it was not delivered'
  return new NodeError('receipt_negative', `${file.name}: the partner’s receipt is negative: ${why}`)
}

function late({ plan }: RunningTransfer, { name }: TransferFileRecord): NodeError {
  return new NodeError('receipt_late', `${name}: no receipt came within ${plan.receiptMs / 1000} seconds`)
}
