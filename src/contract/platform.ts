// What the node adds to the interface: numbers of the whole platform, channels with their status, failures across
// channels, more about a transfer, and the tables of its other subjects. It is the same kind of table as operations.ts:
// routes, role checks, the OpenAPI document and the typed client are made from it.

import type { Static, TSchema } from 'typebox'
import { firstRunOperations } from './account/first-run.ts'
import { ownAccountOperations } from './account/own-account.ts'
import { sessionOperations } from './account/session.ts'
import { AutomaticPause } from './administration/channels.ts'
import { administrationOperations } from './administration/operations.ts'
import { AuditChange, auditOperations } from './audit.ts'
import { CHANNEL_CODE_PATTERN, CHANNEL_STATUSES, DIRECTIONS, HISTORY_EVENTS } from './channel.ts'
import type { Operation, Part } from './operations.ts'
import { ExpectedDay, ExpectedDays, notificationOperations } from './notifications.ts'
import { keyOperations } from './administration/keys.ts'
import { pageOf } from './page.ts'
import { quarantineOperations } from './administration/quarantine.ts'
import { oneOf } from './schema.ts'
import { transferActionOperations } from './transfer-actions.ts'
import { transferSearchOperations, Waiting } from './transfer-search.ts'
import { Transfer, TRANSFER_DIRECTIONS, TRANSFER_STATUSES, TRANSFER_TYPES } from './transfer.ts'
import { OPERATORS, ROLES, TRANSFER_READERS } from './user.ts'
import { Type } from './type.ts'

const out = (description: string) => Type.String({ description })
const count = (description: string) => Type.Integer({ description, format: 'int64' })
const time = (description: string) => Type.String({ description, format: 'date-time' })
const optional = Type.Optional

/** Whether a failed transfer can be retried, and if not, why. */
const RETRY_ANSWERS = ['POSSIBLE', 'HANDLED', 'SUPERSEDED', 'PARTNER', 'BUSY', 'CLOSED'] as const
export type RetryAnswer = (typeof RETRY_ANSWERS)[number]

const retry = oneOf(
  RETRY_ANSWERS,
  'POSSIBLE; HANDLED: retried or reset already; SUPERSEDED: a retry takes a later failure of the channel first; PARTNER: only the partner can send it again; BUSY: one in the same direction is under way; CLOSED: the channel is closed that way.',
)

export const ChannelSummary = Type.Object(
  {
    code: out('Code of the channel.'),
    name: optional(out('Label.')),
    direction: optional(oneOf(DIRECTIONS, 'Direction of the channel.')),
    category: optional(out('Label.')),
    localEntity: optional(out('First part of the code.')),
    localName: optional(out('Name of that local entity.')),
    remoteEntity: optional(out('Second part of the code.')),
    remoteName: optional(out('The partner’s name for that code.')),
    contactId: out('The partner.'),
    contactName: optional(out('Its name.')),
    status: oneOf(CHANNEL_STATUSES, 'What the channel is doing.'),
    automaticPauseUntil: optional(
      time('Until then its automation sends nothing, because its last emissions failed.'),
    ),
  },
  { description: 'A channel in a list.' },
)

export const ActiveTransfer = Type.Object(
  {
    transferId: out('Identifier of the transfer.'),
    channelCode: out('Code of the channel.'),
    channelName: optional(out('Label of the channel.')),
    direction: oneOf(TRANSFER_DIRECTIONS, 'Which way the files go.'),
    status: oneOf(TRANSFER_STATUSES, 'PENDING or IN_PROGRESS.'),
    requestedAt: time('When it was asked for.'),
    startedAt: optional(time('When it started.')),
    attempts: count('Attempts that failed so far.'),
    waiting: optional(Waiting),
    bytes: count('Octets safe at the other end.'),
    totalBytes: count('Octets in all.'),
    files: count('Files done.'),
    totalFiles: count('Files in all.'),
  },
  { description: 'A transfer under way.' },
)

export const FailedTransfer = Type.Object(
  {
    transferId: out('Identifier of the transfer.'),
    channelCode: out('Code of the channel.'),
    channelName: optional(out('Label of the channel.')),
    direction: oneOf(TRANSFER_DIRECTIONS, 'Which way the files went.'),
    type: oneOf(TRANSFER_TYPES, 'What started it.'),
    fileNames: Type.Array(Type.String(), { description: 'Names of its first files, three at the most.' }),
    endedAt: time('When it failed.'),
    error: optional(out('What went wrong, in words.')),
    errorCode: optional(out('The kind of error, see the error table.')),
    retry,
  },
  { description: 'A transfer that failed.' },
)

export const Hour = Type.Object(
  {
    from: time('Its first moment.'),
    completed: count('Transfers completed in it.'),
    failed: count('Transfers that failed in it.'),
    cancelled: count('Transfers cancelled in it.'),
    bytes: count('Octets of the completed ones.'),
  },
  { description: 'One hour of the platform.' },
)

export const UnreachablePartner = Type.Object(
  {
    contactId: out('The partner.'),
    name: optional(out('Its name.')),
    failures: count('Calls in a row that failed.'),
    nextCallAt: optional(time('When it is called again at the latest.')),
    error: optional(out('Why the last call failed.')),
    channels: count('Its channels that the user may reach.'),
  },
  { description: 'A partner that cannot be reached.' },
)

const PausedChannel = Type.Object(
  {
    channelCode: out('Code of the channel.'),
    channelName: optional(out('Label of the channel.')),
    ...AutomaticPause.properties,
  },
  { description: 'A channel whose automation waits.' },
)

const byStatus = Object.fromEntries(
  CHANNEL_STATUSES.map((status) => [status, count(`Channels that are ${status}.`)]),
) as Record<(typeof CHANNEL_STATUSES)[number], ReturnType<typeof count>>

export const Overview = Type.Object(
  {
    channels: Type.Object({
      total: count('Channels the user may reach.'),
      byStatus: Type.Object(byStatus, { description: 'How many are in each status.' }),
    }),
    active: optional(
      Type.Object({
        pending: count('Transfers that wait.'),
        inProgress: count('Transfers that move.'),
        transfers: Type.Array(ActiveTransfer, { description: 'The first of them, those that move first.' }),
      }),
    ),
    hours: optional(
      Type.Array(Hour, { description: 'The last day, oldest first; the last one is not over.' }),
    ),
    failures: optional(
      Type.Object({
        total: count(
          'Failures of the last 24 hours of the clock, this one included: those that hours counts.',
        ),
        transfers: Type.Array(FailedTransfer, { description: 'The newest of them.' }),
      }),
    ),
    partners: optional(
      Type.Array(UnreachablePartner, {
        description: 'Partners that cannot be reached, the worst first; 100 at the most.',
      }),
    ),
    partnersTotal: optional(count('Partners that cannot be reached.')),
    pauses: optional(
      Type.Array(PausedChannel, {
        description: 'Channels whose automation waits, because its last emissions failed; the first of them.',
      }),
    ),
    expectations: optional(
      Type.Object(
        {
          byState: ExpectedDays.properties.byState,
          days: Type.Array(ExpectedDay, {
            description: 'The first of them: missed ones first, then by time.',
          }),
        },
        { description: 'What is expected today; left out where nothing is expected on any day.' },
      ),
    ),
    subscriptionsOff: optional(
      Type.Array(
        Type.Object({
          id: out('The subscription.'),
          offAt: optional(time('Since when.')),
          reason: optional(out('Why.')),
        }),
        { description: 'Subscriptions that were switched off.' },
      ),
    ),
  },
  {
    description:
      'The platform at a glance, as far as the user may see it: what the role or a flag hides is left out.',
  },
)

export const ChannelFilters = Type.Object(
  {
    categories: Type.Array(Type.String(), { description: 'Categories in use, sorted.' }),
    contacts: Type.Array(Type.Object({ id: out('The partner.'), name: optional(out('Its name.')) }), {
      description: 'Partners with a channel, sorted by name.',
    }),
  },
  { description: 'What the list of channels can be filtered by.' },
)

export const FILE_PHASES = ['WAITING', 'STAGED', 'ARRIVED', 'MOVING', 'WHOLE', 'PLACED', 'DONE'] as const
export const RECEIPT_STATES = ['NONE', 'AWAITED', 'POSITIVE', 'NEGATIVE'] as const
/** Phases in which all octets have arrived. */
export const PHASES_AFTER_ARRIVAL: ReadonlySet<string> = new Set(['ARRIVED', 'WHOLE', 'PLACED', 'DONE'])

export const FileProgress = Type.Object(
  {
    fileName: out('Name without path.'),
    size: optional(count('Octets.')),
    position: count('Octets safe at the other end (out) or here (in).'),
    phase: oneOf(FILE_PHASES, 'How far the file has come.'),
    receipt: oneOf(RECEIPT_STATES, 'The partner’s end-to-end receipt.'),
    receiptAt: optional(time('When the receipt came, be it after its deadline.')),
    receiptReason: optional(out('Why it is negative: the partner’s reason, or what it does not prove.')),
  },
  { description: 'How far one file has come.' },
)

export const TransferFacts = Type.Object(
  {
    transferId: out('Identifier of the transfer.'),
    channelCode: out('Code of the channel.'),
    requestedAt: time('When it was asked for.'),
    requestedBy: optional(out('Who asked for it.')),
    attempts: count('Attempts that failed.'),
    nextAttemptAt: optional(time('When it is tried next, while it waits.')),
    waiting: optional(Waiting),
    errorCode: optional(out('The kind of error, see the error table.')),
    retry: optional(retry),
    retryOf: optional(out('The failed transfer that this one goes on from.')),
    retriedBy: optional(out('The transfer that went on from this one.')),
    resendOf: optional(out('The completed transfer whose files this one sends again.')),
    comment: optional(out('Why it was asked for.')),
    output: optional(out('What integration scripts printed.')),
    files: Type.Array(FileProgress, { description: 'Its files, in order.' }),
  },
  { description: 'What is known of a transfer beside what the interface shows.' },
)

export const HistoryFacts = Type.Object(
  {
    datetime: time('When.'),
    event: oneOf(HISTORY_EVENTS, 'What happened.'),
    user: optional(out('Who did it; absent: the node, a partner, or nobody that is known.')),
    transferId: optional(out('The transfer that it is about; absent for roles that may not see transfers.')),
    note: optional(out('More, in words: why, from which address, which key.')),
    changes: optional(
      Type.Array(AuditChange, {
        description:
          'The fields that were changed, for as long as the audit trail has them; those of `security` without their values for users without `administration`.',
      }),
    ),
  },
  { description: 'What is known of an entry of a channel’s history beside what the interface shows.' },
)

const Int = (description: string, byDefault = 1, maximum = 2_147_483_647) =>
  optional(Type.Integer({ minimum: 1, maximum, default: byDefault, description }))
const text = (description: string) =>
  optional(Type.String({ maxLength: 255, pattern: '^[^\\u0000]*$', description }))
const paging = { page: Int('Page, from 1.'), size: Int('Items per page.') }
const query = <P extends Record<string, TSchema>>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })

const ChannelQuery = query({
  search: text('Words that must all occur in code, name, entities, category or partner; case is ignored.'),
  status: optional(oneOf(CHANNEL_STATUSES, 'Only channels in this status.')),
  contactId: text('Only channels of this partner.'),
  direction: optional(oneOf(DIRECTIONS, 'Only channels of this direction.')),
  category: text('Only channels of this category.'),
  ...paging,
})
const FailureQuery = query({
  search: text('Words that must all occur in the channel, the reason or a file’s name; case is ignored.'),
  contactId: text('Only channels of this partner.'),
  hours: Int('How far back to look, in hours of the clock, this one included; 168 at the most.', 24, 168),
  ...paging,
})
const channelCode = Type.String({
  pattern: CHANNEL_CODE_PATTERN,
  description: '<localCode>-<remoteCode>-<application>',
})
const TransferParams = Type.Object({
  channelCode,
  transferId: Type.String({ maxLength: 255, description: 'Identifier of the transfer.' }),
})

const HistoryQuery = query(paging)

const READ = { method: 'GET', tag: 'Platform', roles: ROLES } as const

export const platformOperations = {
  ...sessionOperations,
  ...ownAccountOperations,
  ...firstRunOperations,
  overview: {
    ...READ,
    path: '/platform/v1/overview',
    summary: 'The platform at a glance',
    ok: Overview,
    codes: [400, 401, 403, 500],
  },
  searchChannels: {
    ...READ,
    path: '/platform/v1/channels',
    summary: 'Find channels, with their status, by code',
    query: ChannelQuery,
    ok: pageOf(ChannelSummary),
    codes: [400, 401, 403, 500],
  },
  channelFilters: {
    ...READ,
    path: '/platform/v1/channel-filters',
    summary: 'What channels can be filtered by',
    ok: ChannelFilters,
    codes: [400, 401, 403, 500],
  },
  failedTransfers: {
    ...READ,
    path: '/platform/v1/failed-transfers',
    summary: 'Failures of the last hours across channels, newest first; 10,000 at the most',
    roles: TRANSFER_READERS,
    query: FailureQuery,
    ok: pageOf(FailedTransfer),
    codes: [400, 401, 403, 500],
  },
  transferFacts: {
    ...READ,
    path: '/platform/v1/channels/{channelCode}/transfers/{transferId}',
    summary: 'What more is known of a transfer',
    roles: TRANSFER_READERS,
    params: TransferParams,
    badCode: 404,
    ok: TransferFacts,
    codes: [400, 401, 403, 404, 500],
  },
  channelHistoryFacts: {
    ...READ,
    path: '/platform/v1/channels/{channelCode}/history',
    summary: 'A channel’s history with who did it, what was changed and which transfer it is about',
    params: Type.Object({ channelCode }),
    query: HistoryQuery,
    badCode: 404,
    ok: pageOf(HistoryFacts),
    codes: [400, 401, 403, 404, 500],
  },
  fetchTransfer: {
    method: 'POST',
    tag: 'Platform',
    path: '/platform/v1/channels/{channelCode}/fetch',
    summary: 'Call the partner and take the files that it has for the channel',
    details:
      'For channels where this node calls. The answer is a reception that waits; it completes when the partner has handed over what it had, also if that was nothing, and fails if it has a file that fits no directory of the channel.',
    roles: OPERATORS,
    auth: 'operate',
    params: Type.Object({ channelCode }),
    badCode: 400,
    emptyBody: true,
    ok: Transfer,
    codes: [400, 401, 403, 404, 409, 500],
  },
  ...administrationOperations,
  ...transferSearchOperations,
  ...transferActionOperations,
  ...auditOperations,
  ...keyOperations,
  ...quarantineOperations,
  ...notificationOperations,
} as const satisfies Record<string, Operation>

export type PlatformOperations = typeof platformOperations
export type PlatformOperationName = keyof PlatformOperations

export type PlatformInputOf<N extends PlatformOperationName> = Part<PlatformOperations[N], 'params'> &
  Part<PlatformOperations[N], 'query'>
export type PlatformBodyOf<N extends PlatformOperationName> = PlatformOperations[N] extends {
  body: infer S extends TSchema
}
  ? Static<S>
  : undefined
export type PlatformOutputOf<N extends PlatformOperationName> = Static<PlatformOperations[N]['ok']>

export type Overview = Static<typeof Overview>
export type ChannelSummary = Static<typeof ChannelSummary>
export type ActiveTransfer = Static<typeof ActiveTransfer>
export type FailedTransfer = Static<typeof FailedTransfer>
export type Hour = Static<typeof Hour>
export type UnreachablePartner = Static<typeof UnreachablePartner>
export type HistoryFacts = Static<typeof HistoryFacts>
export type TransferFacts = Static<typeof TransferFacts>
