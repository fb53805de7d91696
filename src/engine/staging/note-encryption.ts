// `encryption` of a transfer: a file of it was encrypted on its way, by its session or by itself. Noted when there is such
// a file, not when there is going to be one.

import { requireHeld } from '../../store/transfers/leases.ts'
import { markEncrypted } from '../../store/transfers/transfers.ts'
import type { RunningTransfer } from '../running-transfer.ts'

export async function noteEncryption({ context, transfer, held }: RunningTransfer): Promise<void> {
  if (transfer.encryption) return
  await context.store.write(async (tx) => {
    await requireHeld(tx, context.store.dialect, held)
    await markEncrypted(tx, transfer.id)
  })
  transfer.encryption = true
}
