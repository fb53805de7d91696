// The receipt for a received file, kept until a session delivers it.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'
import type { Tx } from '../../store/database/store.ts'
import { oweReceipt } from '../../store/transfers/receipts.ts'
import type { RunningTransfer } from '../running-transfer.ts'

/** What the partner may read of a failure: no paths, nothing that a script printed. */
const SPOKEN: Partial<Record<ErrorCode, string>> = {
  script_failed: 'a program of the recipient refused it',
  name_taken: 'its name is taken at the recipient',
  no_space: 'the recipient has no room for it',
}

function spoken(error: unknown): string {
  const known = error instanceof NodeError ? SPOKEN[error.code] : undefined
  return known ?? 'it was received, and could not be processed'
}

/** Signed, and with a hash, exactly where the partner asked for that: then the file's row has the hash. */
export async function owe(
  running: RunningTransfer,
  file: TransferFileRecord,
  tx: Tx,
  error: unknown,
): Promise<void> {
  const { plan, context } = running
  const receipt = {
    key: { name: file.keyName, date: file.keyDate, time: file.keyTime },
    positive: error === undefined,
    reason: error === undefined ? '' : spoken(error),
    reasonCode: '',
    hash: file.wireHash ?? undefined,
    signed: file.wireHash !== null,
    originator: plan.remoteId,
    destination: plan.localId,
    channelCode: plan.code,
  }
  await oweReceipt(tx, plan.contact.id, receipt, context.now())
}
