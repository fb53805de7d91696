// The beginning of a reception: its transfer is IN_PROGRESS and ours from its first moment.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { addHistory, lockChannel } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { newId } from '../../store/database/ids.ts'
import { claimNew } from '../../store/transfers/claims.ts'
import { setSnapshot } from '../../store/transfers/leases.ts'
import type { Held } from '../../store/transfers/leases.ts'
import { putHalfFile } from '../../store/transfers/receptions.ts'
import { findTransfer, insertTransfer, moveTransfer } from '../../store/transfers/transfers.ts'
import type { EngineContext } from '../engine-context.ts'
import { snapshotOf } from '../transfer-plan.ts'
import type { Offer } from '../transports/transport.ts'
import { fileKeyOf, requireNew } from './incoming-record.ts'

export async function beginReception(
  context: EngineContext,
  channel: ChannelRecord,
  file: TransferFileRecord,
  offer: Offer,
  path: string,
) {
  const now = context.now()
  const id = newId(now)
  const held: Held = { id, fence: 1 }
  const key = fileKeyOf(channel.code, file)
  await context.store.write(async (tx) => {
    await lockChannel(tx, context.store.dialect, channel.code)
    await insertTransfer(tx, {
      id,
      channelCode: channel.code,
      direction: 'RECEPCION',
      type: offer.reach.openedBy === 'partner' ? 'REMOTE' : 'AUTOMATIC',
      requestedBy: null,
      retryOf: null,
      now,
      files: [file],
    })
    await requireNew(tx, key)
    if (key.date !== '') await putHalfFile(tx, key, { path, position: file.position }, now)
    await claimNew(tx, held, { owner: context.owner, until: now + context.leaseMs })
    await moveTransfer(tx, id, {
      from: 'PENDING',
      to: 'IN_PROGRESS',
      now,
      fence: held.fence,
      encryption: offer.encryptedSession || offer.envelope?.encrypted === true,
    })
    await setSnapshot(tx, held, snapshotOf(channel))
    await addHistory(tx, channel.code, [{ at: now, event: 'TRANSFER_STARTED', detail: id }])
  })
  const transfer = await findTransfer(context.store.db, id)
  if (!transfer) throw new NodeError('not_found', `channel ${channel.code} was removed`)
  transfer.files = [file]
  return { transfer, held }
}
