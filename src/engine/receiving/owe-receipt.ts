// The receipt for a received file, kept until a session delivers it.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { messageOf } from '../../errors.ts'
import type { Tx } from '../../store/database/store.ts'
import { oweReceipt } from '../../store/transfers/receptions.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { SUITE } from '../staging/wire-form.ts'

/** The receipt is hashed and signed as the file was: the length of the hash tells by what. */
const SUITE_BY_HASH: Record<number, string> = { 40: '02', 64: '04', 128: '06' }

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
    reasonCode: error === undefined ? '' : '34',
    hash: file.wireHash ?? undefined,
    signed: plan.security.rsaLocalKey !== undefined,
    originator: plan.remoteId,
    destination: plan.localId,
    suite: SUITE_BY_HASH[file.wireHash?.length ?? 0] ?? SUITE,
    channelCode: plan.code,
  }
  await oweReceipt(tx, plan.contact.id, receipt, context.now())
}
