// The receipt for a received file, kept until a session delivers it.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { messageOf } from '../../errors.ts'
import type { Tx } from '../../store/database/store.ts'
import { oweReceipt } from '../../store/transfers/receptions.ts'
import type { RunningTransfer } from '../running-transfer.ts'

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
    reason: error === undefined ? '' : messageOf(error),
    reasonCode: '',
    hash: file.wireHash ?? undefined,
    signed: plan.security.rsaLocalKey !== undefined,
    originator: plan.remoteId,
    destination: plan.localId,
    channelCode: plan.code,
  }
  await oweReceipt(tx, plan.contact.id, receipt, context.now())
}
