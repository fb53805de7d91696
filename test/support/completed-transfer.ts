// A transfer that was completed long ago, as tests of what becomes of old ones need many of.

import { addHistory } from '../../src/store/channels.ts'
import { newId } from '../../src/store/database/ids.ts'
import type { Tx } from '../../src/store/database/store.ts'
import { insertTransfer, moveTransfer } from '../../src/store/transfers/transfers.ts'
import { newFile } from '../../src/transfers/request.ts'

/** One file sent at that moment, with its history. Resolves to the id. */
export async function addCompleted(
  tx: Tx,
  channelCode: string,
  { name, at, tookMs }: { name: string; at: number; tookMs: number },
): Promise<string> {
  const id = newId(at)
  const file = newFile({ directory: 0, name, path: `/x/${name}`, size: 5, modifiedAt: at }, 0)
  await insertTransfer(tx, {
    id,
    channelCode,
    direction: 'EMISION',
    type: 'MANUAL',
    requestedBy: null,
    retryOf: null,
    now: at,
    files: [{ ...file, keyDate: '20260101', keyTime: '0000000001' }],
  })
  await moveTransfer(tx, id, { from: 'PENDING', to: 'IN_PROGRESS', now: at })
  await moveTransfer(tx, id, { from: 'IN_PROGRESS', to: 'COMPLETED', now: at + tookMs })
  await addHistory(tx, channelCode, [{ at, event: 'TRANSFER_COMPLETED' }])
  return id
}
