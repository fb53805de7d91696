// What /connect-back/events sends: states of transfers, sent after they are durable, and progress, which may be lost.

import type { Static } from 'typebox'
import { oneOf } from './schema.ts'
import { TRANSFER_DIRECTIONS, TRANSFER_STATUSES } from './transfer.ts'
import { Type } from './type.ts'

const subject = {
  transferId: Type.String(),
  channelCode: Type.String(),
  direction: oneOf(TRANSFER_DIRECTIONS, 'Which way the files go.'),
  at: Type.Integer({ description: 'Milliseconds since 1970, UTC.' }),
}

const StateEvent = Type.Object(
  {
    kind: Type.Literal('state'),
    ...subject,
    status: oneOf(TRANSFER_STATUSES, 'Where the transfer stands now.'),
    error: Type.Optional(Type.String()),
  },
  { description: 'A transfer changed its state.' },
)

const ProgressEvent = Type.Object(
  {
    kind: Type.Literal('progress'),
    ...subject,
    fileName: Type.String(),
    fileBytes: Type.Integer(),
    fileSize: Type.Integer(),
    bytes: Type.Integer({ description: 'Octets of the whole transfer so far.' }),
    totalBytes: Type.Integer(),
    files: Type.Integer({ description: 'Files done.' }),
    totalFiles: Type.Integer(),
    rate: Type.Integer({ description: 'Octets per second over the last moments.' }),
  },
  { description: 'How far a transfer has come.' },
)

export type TransferEvent = Static<typeof StateEvent> | Static<typeof ProgressEvent>
