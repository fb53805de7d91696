// The row of a file on its way in, before anything of it has come.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import type { Tx } from '../../store/database/store.ts'
import { findReceived } from '../../store/transfers/receptions.ts'
import type { FileKey } from '../../store/transfers/receptions.ts'
import type { Inbound } from './route-offer.ts'
import { namesOneFile } from '../transports/transport.ts'
import type { Offer } from '../transports/transport.ts'

export function newRecord(offer: Offer, inbound: Inbound): TransferFileRecord {
  return {
    index: 0,
    content: inbound.directoryIndex === null ? 'CERTIFICATE' : 'FILE',
    directory: inbound.directoryIndex,
    name: offer.name,
    path: '',
    size: offer.size ?? null,
    modifiedAt: null,
    hash: null,
    phase: 'MOVING',
    position: 0,
    maybeVisible: false,
    keyName: offer.key.name,
    keyDate: offer.key.date,
    keyTime: offer.key.time,
    stagedPath: null,
    wireHash: null,
    receipt: 'NONE',
    receiptReason: null,
    receiptAt: null,
    actionPost: null,
    pathPost: null,
  }
}

/** What names the file between the two ends. */
export function fileKeyOf(channelCode: string, file: TransferFileRecord): FileKey {
  return { channelCode, name: file.keyName, date: file.keyDate, time: file.keyTime }
}

/** In the write that gives the file its row: only there is it certain that no other transfer is about to record it. */
export async function requireNew(tx: Tx, key: FileKey): Promise<void> {
  if (namesOneFile(key) && (await findReceived(tx, key)))
    throw new NodeError('duplicate_file', `${key.name} was received before`)
}
