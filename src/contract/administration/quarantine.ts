// Quarantined files: received, and put aside because they did not pass their checks. Who holds controlatorFF looks at
// them, and releases or discards them.

import type { Static } from 'typebox'
import { CHANNEL_CODE_PATTERN } from '../channel.ts'
import type { Operation } from '../operations.ts'
import { pageOf } from '../page.ts'
import { oneOf } from '../schema.ts'
import { Type } from '../type.ts'
import { ROLES } from '../user.ts'

const out = (description: string) => Type.String({ description })
const time = (description: string) => Type.String({ format: 'date-time', description })
const octets = (description: string) => Type.Integer({ format: 'int64', description })
const optional = Type.Optional
const closed = { additionalProperties: false } as const
const count = (byDefault: number, description: string) =>
  optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647, default: byDefault, description }))

export const QUARANTINE_STATES = ['WAITING', 'RELEASING', 'RELEASED', 'DISCARDING', 'DISCARDED'] as const

export const QuarantinedFileFacts = Type.Object(
  {
    id: out('Identifier of the quarantined file.'),
    transferId: out('The failed transfer that brought it.'),
    channelCode: optional(out('Code of the channel; left out where nobody knows it any more.')),
    fileName: out('Name that the partner gave it.'),
    size: octets('Octets as they came.'),
    hash: out('sha256: and 64 hexadecimal digits of the bytes as they came.'),
    opened: Type.Boolean({
      description:
        'Whether the file itself could be taken out of what came, so that it can be released; false: it can only be downloaded as it came, or discarded.',
    }),
    openedSize: optional(octets('Octets of the file itself.')),
    errorCode: out('Which check failed, see the error table.'),
    reason: out('Why it was put aside, in words.'),
    quarantinedAt: time('When.'),
    state: oneOf(
      QUARANTINE_STATES,
      'WAITING for a decision; RELEASING and DISCARDING while a decision is carried out; RELEASED; DISCARDED.',
    ),
    decidedAt: optional(time('When somebody decided.')),
    decidedBy: optional(out('Who decided.')),
    path: optional(out('Where it was released to.')),
  },
  { description: 'A received file that did not pass its checks.' },
)
export type QuarantinedFileFacts = Static<typeof QuarantinedFileFacts>

const FileParams = Type.Object({
  fileId: Type.String({ minLength: 1, maxLength: 64, description: 'Identifier of the quarantined file.' }),
})
const CONTROL = { tag: 'Quarantine', roles: ROLES, auth: 'controlatorFF' } as const

export const quarantineOperations = {
  listQuarantine: {
    ...CONTROL,
    method: 'GET',
    path: '/platform/v1/quarantine',
    summary: 'List quarantined files, newest first; 10,000 at the most',
    query: Type.Object(
      {
        channelCode: optional(
          Type.String({ pattern: CHANNEL_CODE_PATTERN, description: 'Only files of this channel.' }),
        ),
        state: optional(oneOf(QUARANTINE_STATES, 'Only in this state.')),
        page: count(1, 'Page, from 1.'),
        size: count(50, 'Items per page.'),
      },
      closed,
    ),
    ok: pageOf(QuarantinedFileFacts),
    codes: [400, 401, 403, 500],
  },
  downloadQuarantined: {
    ...CONTROL,
    method: 'GET',
    path: '/platform/v1/quarantine/{fileId}/content',
    summary: 'Download a quarantined file, as it came or opened',
    params: FileParams,
    query: Type.Object(
      {
        form: optional(
          oneOf(
            ['received', 'opened'] as const,
            'received: the bytes as they came (if left out); opened: the file itself, taken out without regard to who signed it.',
          ),
        ),
      },
      closed,
    ),
    ok: Type.String({ description: 'The bytes.' }),
    produces: ['application/octet-stream'],
    codes: [400, 401, 403, 404, 409, 500],
  },
  releaseQuarantined: {
    ...CONTROL,
    method: 'POST',
    path: '/platform/v1/quarantine/{fileId}/release',
    summary: 'Release a quarantined file into its channel’s inbound directory',
    params: FileParams,
    emptyBody: true,
    ok: QuarantinedFileFacts,
    codes: [400, 401, 403, 404, 409, 500],
  },
  discardQuarantined: {
    ...CONTROL,
    method: 'POST',
    path: '/platform/v1/quarantine/{fileId}/discard',
    summary: 'Discard a quarantined file: its bytes are removed, what is known of it stays',
    params: FileParams,
    emptyBody: true,
    ok: QuarantinedFileFacts,
    codes: [400, 401, 403, 404, 409, 500],
  },
} as const satisfies Record<string, Operation>
