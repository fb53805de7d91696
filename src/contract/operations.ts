// The 17 operations of the interface as data. Routes, role checks, the OpenAPI document, the reference page and the
// typed client are all made from this table. A test fails if one of them lacks an operation.

import type { Static, TSchema } from 'typebox'
import {
  Channel,
  CHANNEL_CODE_PATTERN,
  ChannelHistory,
  ChannelPatch,
  ChannelPath,
  ChannelStatus,
  DirectoryList,
  IpList,
} from './channel.ts'
import { Contact } from './contact.ts'
import { pageOf } from './page.ts'
import { Transfer } from './transfer.ts'
import {
  LoginResponseV1,
  LoginResponseV2,
  LoginV1,
  LoginV2,
  OPERATORS,
  ROLES,
  TRANSFER_READERS,
} from './user.ts'
import type { Auth, Role } from './user.ts'
import { Type } from './type.ts'

export const BASE_PATH = '/connect-back'

const EDITORS = ['ROLE_GLOBALADMIN', 'ROLE_ADMIN', 'ROLE_ADVOPERATOR'] as const satisfies Role[]

export type Operation = {
  /** Number in the interface description; absent for what the node adds. */
  number?: number
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  tag: string
  summary: string
  /** What a caller should know beside the summary. */
  details?: string
  /** Roles that may call it; `public` needs no token. */
  roles: 'public' | readonly Role[]
  /** Permission flag that must be on as well. */
  auth?: Auth
  /** Roles that may call it for a part of what it does, with a flag of their own. */
  inPart?: { roles: readonly Role[]; auth: Auth; of: string }
  deprecated?: true
  params?: TSchema
  /** The answer to a malformed channel code: a malformed request, or no such channel. */
  badCode?: 400 | 404
  query?: TSchema
  /** Parameters of the query that the description calls required; the node has defaults for them. */
  requiredQuery?: readonly string[]
  body?: TSchema
  /** Octets of a body at the most; 1 MiB if left out. */
  bodyLimit?: number
  /** Content type of a body that is not JSON: it is handed over as it comes, octet by octet. */
  consumes?: string
  /** The three actions take no body. An empty one or {} is accepted. */
  emptyBody?: true
  ok: TSchema
  /** Content types of an answer that is not JSON. It is sent as it is. */
  produces?: readonly string[]
  /** Status codes other than 200. */
  codes: readonly number[]
}

const Int = (description: string) =>
  Type.Integer({ minimum: 1, maximum: 2_147_483_647, default: 1, description })
const paging = { page: Type.Optional(Int('Page, from 1.')), size: Type.Optional(Int('Items per page.')) }
const Day = (description: string) => Type.Optional(Type.String({ format: 'date', description }))
const ContactId = Type.Optional(
  Type.String({
    pattern: '^[^\\u0000]*$',
    description: 'Only what belongs to this contact.',
  }),
)

const PAGED = ['page', 'size'] as const

const query = <P extends Record<string, TSchema>>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })
const Paging = query(paging)
const ContactFilter = query({ contactId: ContactId, ...paging })
const TransferFilter = query({
  initialDate: Day('First day, yyyy-MM-dd, node’s time zone.'),
  endDate: Day('Last day, yyyy-MM-dd, included.'),
  ...paging,
})

const ChannelParams = Type.Object({
  channelCode: Type.String({
    pattern: CHANNEL_CODE_PATTERN,
    description: '<localCode>-<remoteCode>-<application>',
  }),
})
const TransferParams = Type.Object({
  ...ChannelParams.properties,
  transferId: Type.String({ maxLength: 255, description: 'Identifier of the transfer.' }),
})

const CHANNEL = '/integration/v2/channels/{channelCode}'
const UPDATE = {
  tag: 'Channels',
  roles: EDITORS,
  auth: 'editChannels',
  params: ChannelParams,
  badCode: 400,
  ok: Channel,
  codes: [400, 401, 403, 404, 500],
} as const
const ACTION = {
  method: 'POST',
  tag: 'Transfers',
  roles: OPERATORS,
  auth: 'operate',
  params: ChannelParams,
  badCode: 400,
  emptyBody: true,
  codes: [400, 401, 403, 404, 409, 500],
} as const

export const operations = {
  loginV1: {
    number: 1,
    method: 'POST',
    path: '/integration/v1/auth/login',
    tag: 'Login',
    summary: 'Log in by e-mail address',
    roles: 'public',
    body: LoginV1,
    ok: LoginResponseV1,
    codes: [400, 401, 429, 500],
  },
  loginV2: {
    number: 2,
    method: 'POST',
    path: '/integration/v2/auth/login',
    tag: 'Login',
    summary: 'Log in by username',
    roles: 'public',
    deprecated: true,
    body: LoginV2,
    ok: LoginResponseV2,
    codes: [400, 401, 429, 500],
  },
  listChannels: {
    number: 3,
    method: 'GET',
    path: '/integration/v2/channels',
    tag: 'Channels',
    summary: 'List channels',
    roles: ROLES,
    query: ContactFilter,
    requiredQuery: PAGED,
    ok: pageOf(Channel),
    codes: [400, 401, 403, 500],
  },
  channelConfiguration: {
    number: 4,
    method: 'GET',
    path: `${CHANNEL}/configuration`,
    tag: 'Channels',
    summary: 'Read a channel’s configuration',
    roles: ROLES,
    params: ChannelParams,
    badCode: 404,
    ok: Type.Array(Channel),
    codes: [400, 401, 403, 404, 500],
  },
  channelStatus: {
    number: 5,
    method: 'GET',
    path: `${CHANNEL}/status`,
    tag: 'Channels',
    summary: 'Read a channel’s status',
    roles: ROLES,
    params: ChannelParams,
    badCode: 400,
    ok: Type.Array(ChannelStatus),
    codes: [400, 401, 403, 404, 500],
  },
  channelHistory: {
    number: 6,
    method: 'GET',
    path: `${CHANNEL}/history`,
    tag: 'Channels',
    summary: 'Read a channel’s history, newest first',
    roles: ROLES,
    params: ChannelParams,
    badCode: 404,
    query: Paging,
    ok: pageOf(ChannelHistory),
    codes: [400, 401, 403, 404, 500],
  },
  updateChannel: {
    number: 7,
    method: 'POST',
    path: `${CHANNEL}/update`,
    summary: 'Change a channel: fields sent replace, null clears, the rest stays',
    details:
      'Merges: nested objects merge the same way, arrays replace whole. Read the channel, change what is to change and send it back, or send the changed fields alone; what was not shown stays as it is.',
    body: ChannelPatch,
    inPart: {
      roles: ['ROLE_ADMINFF', 'ROLE_ADMINCONTROLATORFF'],
      auth: 'administrationFF',
      of: 'svcff, emissionff, receptionff and the rsa… fields of security',
    },
    ...UPDATE,
  },
  updateIps: {
    number: 8,
    method: 'POST',
    path: `${CHANNEL}/update/ips`,
    summary: 'Replace a channel’s remote addresses',
    body: IpList,
    ...UPDATE,
  },
  updateDirectories: {
    number: 9,
    method: 'POST',
    path: `${CHANNEL}/update/directories`,
    summary: 'Replace a channel’s directories',
    body: DirectoryList,
    ...UPDATE,
  },
  setOutboundPath: {
    number: 10,
    method: 'PUT',
    path: `${CHANNEL}/config/outbound-path`,
    summary: 'Set where files to send are taken from',
    body: ChannelPath,
    ...UPDATE,
  },
  setInboundPath: {
    number: 11,
    method: 'PUT',
    path: `${CHANNEL}/config/inbound-path`,
    summary: 'Set where received files are put',
    body: ChannelPath,
    ...UPDATE,
  },
  listTransfers: {
    number: 12,
    method: 'GET',
    path: `${CHANNEL}/transfers`,
    tag: 'Transfers',
    summary: 'List a channel’s transfers, newest first',
    roles: TRANSFER_READERS,
    params: ChannelParams,
    badCode: 404,
    query: TransferFilter,
    requiredQuery: PAGED,
    ok: pageOf(Transfer),
    codes: [400, 401, 403, 404, 500],
  },
  transferDetail: {
    number: 13,
    method: 'GET',
    path: `${CHANNEL}/transfers/{transferId}`,
    tag: 'Transfers',
    summary: 'Read one transfer',
    roles: TRANSFER_READERS,
    params: TransferParams,
    badCode: 404,
    ok: Transfer,
    codes: [400, 401, 403, 404, 500],
  },
  resetChannel: {
    number: 14,
    path: `${CHANNEL}/transfers/reset`,
    summary: 'Cancel what is pending or running and clear an error',
    ok: ChannelStatus,
    ...ACTION,
  },
  retryTransfer: {
    number: 15,
    path: `${CHANNEL}/transfers/retry`,
    summary: 'Retry the last failed transfer',
    ok: Transfer,
    ...ACTION,
  },
  sendTransfer: {
    number: 16,
    path: `${CHANNEL}/transfers/send`,
    summary: 'Send the files configured in the channel',
    ok: Transfer,
    ...ACTION,
  },
  listContacts: {
    number: 17,
    method: 'GET',
    path: '/integration/v2/contacts',
    tag: 'Contacts',
    summary: 'List contacts',
    roles: ROLES,
    auth: 'contactChannels',
    query: ContactFilter,
    requiredQuery: PAGED,
    ok: pageOf(Contact),
    codes: [400, 401, 403, 500],
  },
} as const satisfies Record<string, Operation>

export type Operations = typeof operations
export type OperationName = keyof Operations

/** What a part of an operation is as a TypeScript type; unknown if it has no such part. */
export type Part<O, K extends string> = O extends Record<K, infer S extends TSchema> ? Static<S> : unknown

/** What a caller gives: path parameters and query together, and the body. */
export type InputOf<N extends OperationName> = Part<Operations[N], 'params'> & Part<Operations[N], 'query'>
export type BodyOf<N extends OperationName> = Operations[N] extends { body: infer S extends TSchema }
  ? Static<S>
  : undefined
export type OutputOf<N extends OperationName> = Static<Operations[N]['ok']>
