// Transfers as the interface shows them. All fields are strings, except `encryption` and `files`.

import type { Static } from 'typebox'
import { allOptional, flag, oneOf } from './schema.ts'
import { Type } from './type.ts'

export const TRANSFER_STATUSES = ['PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'] as const
export const TRANSFER_DIRECTIONS = ['EMISION', 'RECEPCION'] as const
export const TRANSFER_TYPES = ['MANUAL', 'RETRY', 'AUTOMATIC', 'REMOTE'] as const

// The node makes these values itself. Limits are not needed, and a pattern would slow serialisation down.
const out = (description: string) => Type.String({ description })

export const TransferFile = allOptional(
  {
    fileName: out('Name without path.'),
    path: out('Where the file lay when it was taken, or where it was put.'),
    hash: out('sha256: and 64 hexadecimal digits of the local file’s bytes.'),
    size: out('Decimal number of bytes.'),
    actionPost: out('The integration action that was done.'),
    filePathPost: out('Where the file lies after that action.'),
  },
  'A file of a transfer.',
)

export const Transfer = allOptional(
  {
    channelCode: out('Code of the channel.'),
    transferId: out('Identifier of the transfer.'),
    transferStartDateTime: out('When it started, yyyy-MM-dd’T’HH:mm:ss.SSSXXX.'),
    transferEndDateTime: out('When it ended, same format.'),
    direction: oneOf(TRANSFER_DIRECTIONS, 'Which way the files go.'),
    status: oneOf(TRANSFER_STATUSES, 'Where it stands.'),
    error: out('What went wrong, in words.'),
    type: oneOf(TRANSFER_TYPES, 'What started it.'),
    encryption: flag('A file was encrypted on its way, by its session or by itself.'),
    files: Type.Array(TransferFile, { description: 'The files it carries.' }),
  },
  'A transmission over a channel.',
)

export type Transfer = Static<typeof Transfer>
export type TransferFile = Static<typeof TransferFile>
export type TransferStatus = (typeof TRANSFER_STATUSES)[number]
export type TransferDirection = (typeof TRANSFER_DIRECTIONS)[number]
export type TransferType = (typeof TRANSFER_TYPES)[number]
