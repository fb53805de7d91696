// What people do with single transfers beside the interface's three actions: see what a send would take, cancel one, send a
// completed one again, and download what was received.

import type { Static } from 'typebox'
import { CHANNEL_CODE_PATTERN } from './channel.ts'
import type { Operation } from './operations.ts'
import { Transfer } from './transfer.ts'
import { Type } from './type.ts'
import { OPERATORS } from './user.ts'

const out = (description: string) => Type.String({ description })
const count = (description: string) => Type.Integer({ description, format: 'int64' })

export const SendPreview = Type.Object(
  {
    files: Type.Array(
      Type.Object({
        fileName: out('Name of the file.'),
        path: out('Where it lies.'),
        size: count('Octets.'),
      }),
      { description: 'The first thousand.' },
    ),
    total: count('How many files there are.'),
    bytes: count('Octets of all of them.'),
    refusal: Type.Optional(out('Why nothing would be sent now; then there are no files.')),
  },
  { description: 'What a send would take now.' },
)
export type SendPreview = Static<typeof SendPreview>

export const UploadedFile = Type.Object(
  {
    fileName: out('Name of the file.'),
    path: out('Where it lies now.'),
    size: count('Octets.'),
    hash: out('`sha256:` and 64 hexadecimal digits.'),
  },
  { description: 'A file that lies in an outbound directory now.' },
)
export type UploadedFile = Static<typeof UploadedFile>

const comment = Type.String({ minLength: 1, maxLength: 500, pattern: '^[^\\u0000]*$', description: 'Why.' })
export const Reason = Type.Object(
  { comment: Type.Optional(comment) },
  { additionalProperties: false, description: 'Why it is done, if there is something to say.' },
)
export const NeededReason = Type.Object(
  { comment },
  { additionalProperties: false, description: 'Why it is done.' },
)

const channelCode = Type.String({
  pattern: CHANNEL_CODE_PATTERN,
  description: '<localCode>-<remoteCode>-<application>',
})
const transferId = Type.String({
  maxLength: 255,
  pattern: '^[^\\u0000]*$',
  description: 'Identifier of the transfer.',
})
const ChannelParams = Type.Object({ channelCode })
const TransferParams = Type.Object({ channelCode, transferId })
const FileParams = Type.Object({
  channelCode,
  transferId,
  fileIndex: Type.String({ maxLength: 9, description: 'Place of the file in the transfer, from 0.' }),
})

const OPERATE = { tag: 'Platform', roles: OPERATORS, auth: 'operate', badCode: 400 } as const
const CHANNEL = '/platform/v1/channels/{channelCode}'

export const transferActionOperations = {
  previewSend: {
    ...OPERATE,
    method: 'GET',
    path: `${CHANNEL}/send-preview`,
    summary: 'Which files a send would take now',
    params: ChannelParams,
    ok: SendPreview,
    codes: [400, 401, 403, 404, 500],
  },
  uploadFile: {
    ...OPERATE,
    method: 'PUT',
    path: `${CHANNEL}/outbound/{fileName}`,
    summary: 'Put a file into the channel’s outbound directory',
    details:
      'The body is the file. It goes into the first outbound directory that takes its name, whole or not at all, and overwrites nothing. It is not sent by this.',
    params: Type.Object({
      channelCode,
      fileName: Type.String({ minLength: 1, maxLength: 255, description: 'Name of the file.' }),
    }),
    consumes: 'application/octet-stream',
    ok: UploadedFile,
    codes: [400, 401, 403, 404, 409, 413, 500],
  },
  cancelTransfer: {
    ...OPERATE,
    method: 'POST',
    path: `${CHANNEL}/transfers/{transferId}/cancel`,
    summary: 'Cancel one transfer that waits or runs',
    params: TransferParams,
    body: Reason,
    ok: Transfer,
    codes: [400, 401, 403, 404, 409, 500],
  },
  resendTransfer: {
    ...OPERATE,
    method: 'POST',
    path: `${CHANNEL}/transfers/{transferId}/resend`,
    summary: 'Send the files of a completed transfer once more',
    details:
      'They must still be there, as they were sent. A file that was moved afterwards goes back to where it was sent from.',
    params: TransferParams,
    body: NeededReason,
    ok: Transfer,
    codes: [400, 401, 403, 404, 409, 500],
  },
  downloadFile: {
    ...OPERATE,
    method: 'GET',
    path: `${CHANNEL}/transfers/{transferId}/files/{fileIndex}/content`,
    summary: 'Download a received file',
    params: FileParams,
    ok: Type.String({ description: 'The file’s octets.' }),
    produces: ['application/octet-stream'],
    codes: [400, 401, 403, 404, 409, 500],
  },
} as const satisfies Record<string, Operation>
