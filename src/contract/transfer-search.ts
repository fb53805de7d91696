// Transfers of all channels: found by what people know of them, and taken out as a table.

import type { Static, TSchema } from 'typebox'
import { CHANNEL_CODE_PATTERN } from './channel.ts'
import type { Operation } from './operations.ts'
import { oneOf } from './schema.ts'
import { TRANSFER_DIRECTIONS, TRANSFER_STATUSES, TRANSFER_TYPES } from './transfer.ts'
import { Type } from './type.ts'
import { ROLES } from './user.ts'

const out = (description: string) => Type.String({ description })
const count = (description: string) => Type.Integer({ description, format: 'int64' })
const time = (description: string) => Type.String({ description, format: 'date-time' })
const optional = Type.Optional

/** What holds a transfer that waits. */
const WAITING_REASONS = [
  'CLOSED',
  'HOURS',
  'PARTNER_CALL',
  'PARTNER_DOWN',
  'RETRY',
  'RECEIPT',
  'TURN',
] as const
export type WaitingReason = (typeof WAITING_REASONS)[number]

export const Waiting = Type.Object(
  {
    reason: oneOf(
      WAITING_REASONS,
      'CLOSED: the channel, or this way of it, is switched off; HOURS: it is outside its hours; PARTNER_CALL: the partner must call; PARTNER_DOWN: the partner cannot be reached and is called again later; RETRY: an attempt failed and the next one follows; RECEIPT: the files have left, and the partner’s receipt, or its fetching them, is awaited; TURN: it starts as soon as there is a free place.',
    ),
    until: optional(time('When that ends, or is looked at again; left out where nobody can know.')),
  },
  { description: 'Why a transfer waits.' },
)
export type Waiting = Static<typeof Waiting>

export const TransferSummary = Type.Object(
  {
    transferId: out('Identifier of the transfer.'),
    channelCode: out('Code of the channel.'),
    channelName: optional(out('Label of the channel.')),
    contactId: optional(out('The partner.')),
    contactName: optional(out('Its name.')),
    direction: oneOf(TRANSFER_DIRECTIONS, 'Which way the files go.'),
    status: oneOf(TRANSFER_STATUSES, 'Where it stands.'),
    type: oneOf(TRANSFER_TYPES, 'What started it.'),
    requestedAt: time('When it was asked for.'),
    requestedBy: optional(out('Who asked for it.')),
    startedAt: optional(time('When it started.')),
    endedAt: optional(time('When it ended.')),
    error: optional(out('What went wrong, in words.')),
    errorCode: optional(out('The kind of error, see the error table.')),
    waiting: optional(Waiting),
    files: count('How many files it has.'),
    bytes: count('Octets of all of them.'),
    fileNames: Type.Array(Type.String(), {
      description: 'The first names that fit what was looked for, three at the most.',
    }),
  },
  { description: 'A transfer in a list across channels.' },
)

export const TransferSearch = Type.Object(
  {
    content: Type.Array(TransferSummary, { description: 'The transfers of this page.' }),
    number: Type.Integer({ format: 'int32', description: 'The page asked for, from 1.' }),
    size: Type.Integer({ format: 'int32', description: 'Items asked for, after the node’s maximum.' }),
    counted: count('How many fit, as far as was counted: the pages up to this one and some after it.'),
    more: Type.Boolean({ description: 'There are more than were counted.' }),
    stoppedAt: optional(
      time(
        'The search stopped here after looking at many that do not fit; go on with endDate (or initialDate) of that day.',
      ),
    ),
  },
  { description: 'A page of transfers of all channels.' },
)

const text = (description: string, maxLength = 255) =>
  optional(Type.String({ maxLength, minLength: 1, pattern: '^[^\\u0000]*$', description }))
const day = (description: string) => optional(Type.String({ format: 'date', description }))
const query = <P extends Record<string, TSchema>>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })

const filters = {
  fileName: text(
    'Part of a file’s name; with * for any text or ? for one character the whole name. Case is ignored. A beginning before the first * is found at once, however old.',
  ),
  hash: optional(
    Type.String({
      pattern: '^(sha256:)?[0-9a-fA-F]{64}$',
      description: 'SHA-256 of a file, hexadecimal, with or without sha256: before it.',
    }),
  ),
  channelCode: optional(
    Type.String({ pattern: CHANNEL_CODE_PATTERN, description: 'Only transfers of this channel.' }),
  ),
  channels: text('Words that must all occur in code, name, entities, category or partner of the channel.'),
  contactId: text('Only transfers with this partner.'),
  status: optional(oneOf(TRANSFER_STATUSES, 'Only those that stand there.')),
  direction: optional(oneOf(TRANSFER_DIRECTIONS, 'Only those that go this way.')),
  type: optional(oneOf(TRANSFER_TYPES, 'Only those that were started so.')),
  initialDate: day('First day, yyyy-MM-dd, node’s time zone; by start, or request until there is one.'),
  endDate: day('Last day, yyyy-MM-dd, included.'),
  sort: optional(oneOf(['NEWEST', 'OLDEST'] as const, 'Which come first; the newest if left out.')),
}

/** Items that a search goes through at the most: beyond them dates lead further. */
export const MOST_SEARCHED = 10_000

const READ = {
  method: 'GET',
  tag: 'Platform',
  roles: ROLES.filter((role) => role !== 'ROLE_CONTROLATOR'),
  codes: [400, 401, 403, 404, 500],
} as const

export const transferSearchOperations = {
  searchTransfers: {
    ...READ,
    path: '/platform/v1/transfers',
    summary: 'Find transfers of all channels; page times size may be 10,000 at the most',
    query: query({
      ...filters,
      page: optional(
        Type.Integer({ minimum: 1, maximum: MOST_SEARCHED, default: 1, description: 'Page, from 1.' }),
      ),
      size: optional(
        Type.Integer({ minimum: 1, maximum: MOST_SEARCHED, default: 50, description: 'Items per page.' }),
      ),
    }),
    ok: TransferSearch,
  },
  exportTransfers: {
    ...READ,
    path: '/platform/v1/transfers/export',
    summary: 'All transfers that fit, as CSV: a line for each file',
    query: query(filters),
    ok: Type.String({ description: 'Comma-separated values, RFC 4180.' }),
    produces: ['text/csv'],
  },
} as const satisfies Record<string, Operation>

export type TransferSummary = Static<typeof TransferSummary>
export type TransferSearch = Static<typeof TransferSearch>
