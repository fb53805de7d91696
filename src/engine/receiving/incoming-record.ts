// The row of a file on its way in, before anything of it has come.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import type { FileKey } from '../../store/transfers/receptions.ts'
import type { Inbound } from './route-offer.ts'
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
