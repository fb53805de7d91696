// Keys of channels: what stands behind their names, keys made here, and keys that partners have proposed. Private keys
// are never shown.

import type { Static } from 'typebox'
import { ADMINISTRATORS, ChannelParams } from './changed.ts'
import type { Operation } from '../operations.ts'
import { pageOf } from '../page.ts'
import { oneOf } from '../schema.ts'
import { Type } from '../type.ts'
import { ROLES } from '../user.ts'

const out = (description: string) => Type.String({ description })
const time = (description: string) => Type.String({ format: 'date-time', description })
const optional = Type.Optional
const closed = { additionalProperties: false } as const
const count = (byDefault: number, description: string) =>
  optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647, default: byDefault, description }))

const facts = {
  fingerprint: out(
    'SHA-256 of the certificate, or of the public key where there is none; 64 hexadecimal digits.',
  ),
  pem: out('The certificate or public key, in PEM form.'),
  subject: optional(out('Whom the certificate names.')),
  issuer: optional(out('Who issued it.')),
  validFrom: optional(time('From when the certificate is valid.')),
  validTo: optional(time('Until when it is valid.')),
  algorithm: out('Kind of the key.'),
  bits: optional(Type.Integer({ format: 'int32', description: 'Length of the key.' })),
}

const unreadable = optional(
  out(
    'Why it cannot be read. Certificate and kind are empty then, and the fingerprint too where it was not known before.',
  ),
)

export const KeyFacts = Type.Object(
  { name: optional(out('Its label: rsaLocalKeyName or rsaRemoteKeyName.')), ...facts, unreadable },
  { description: 'The public part of a key.' },
)
export const ChannelKeys = Type.Object(
  { channelCode: out('Code of the channel.'), local: optional(KeyFacts), remote: optional(KeyFacts) },
  { description: 'What stands behind the key names of a channel: ours (local) and the partner’s (remote).' },
)

export const KeyInUse = Type.Object(
  {
    side: oneOf(['LOCAL', 'REMOTE'] as const, 'Ours, or the partner’s.'),
    name: optional(out('Its label, where the channels agree.')),
    ...facts,
    daysLeft: optional(
      Type.Integer({ format: 'int32', description: 'Whole days until its certificate ends.' }),
    ),
    unreadable,
    channels: Type.Array(Type.String(), {
      description: 'Codes of the channels that use it, the first hundred.',
    }),
    channelCount: Type.Integer({ format: 'int32', description: 'How many channels use it.' }),
  },
  { description: 'A key or certificate that channels use.' },
)
export const KeyText = Type.Object(
  {
    pem: Type.String({
      minLength: 1,
      maxLength: 65_536,
      pattern: '^[^\\u0000]*$',
      description: 'A certificate, public or private key, in PEM form.',
    }),
  },
  { ...closed, description: 'A key to be looked at; nothing is kept of it.' },
)

export const KEY_STATES = ['WAITING', 'ACCEPTED', 'REFUSED'] as const
export const ProposedKey = Type.Object(
  {
    id: out('Identifier of the proposal.'),
    contactId: out('The partner.'),
    contactName: optional(out('Its name.')),
    channelCode: out('The key-exchange channel that it came over.'),
    state: oneOf(KEY_STATES, 'What became of it.'),
    receivedAt: time('When it came.'),
    decidedAt: optional(time('When it was accepted or refused.')),
    decidedBy: optional(out('Who decided.')),
    ...facts,
  },
  { description: 'A key that a partner has sent. Nothing uses it before somebody accepts it.' },
)
export const KeyAccepted = Type.Object(
  {
    id: out('Identifier of the proposal.'),
    fingerprint: facts.fingerprint,
    channels: Type.Array(Type.String(), { description: 'Codes of the channels that use it now.' }),
  },
  { description: 'A key in use on all channels of its partner.' },
)

export const NewKey = Type.Object(
  {
    commonName: optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: '^[^\\u0000]*$',
        description: 'Name in the certificate; the local entity’s if left out.',
      }),
    ),
    bits: optional(
      Type.Integer({ minimum: 2048, maximum: 8192, default: 3072, description: 'Length of the key.' }),
    ),
    days: optional(
      Type.Integer({
        minimum: 1,
        maximum: 36_500,
        default: 3650,
        description: 'How long the certificate is valid.',
      }),
    ),
    keyName: optional(
      Type.String({
        maxLength: 255,
        pattern: '^[^\\u0000]*$',
        description: 'The new rsaLocalKeyName; the old one stays if left out.',
      }),
    ),
    replace: optional(Type.Boolean({ description: 'true: also where the channel has a key already.' })),
  },
  { ...closed, description: 'A key with a self-signed certificate, to be made by the node.' },
)
export const SeenFingerprint = Type.Object(
  {
    fingerprint: Type.String({
      minLength: 64,
      maxLength: 128,
      pattern: '^(?:sha256:)?(?:[0-9A-Fa-f]{2}[: ]?){32}$',
      description:
        'The fingerprint that the partner has told over another line; colons, spaces and case do not matter.',
    }),
  },
  { ...closed, description: 'What the key is compared with.' },
)

const ProposalParams = Type.Object({
  keyId: Type.String({ minLength: 1, maxLength: 64, description: 'Identifier of the proposal.' }),
})
const SIGN = { tag: 'Keys', roles: ROLES, auth: 'signer' } as const

export const keyOperations = {
  channelKeys: {
    method: 'GET',
    tag: 'Keys',
    path: '/platform/v1/channels/{channelCode}/keys',
    summary: 'Read the certificates and fingerprints behind a channel’s key names',
    roles: ROLES,
    auth: 'svcFF',
    params: ChannelParams,
    badCode: 404,
    ok: ChannelKeys,
    codes: [400, 401, 403, 404, 500],
  },
  listKeys: {
    method: 'GET',
    tag: 'Keys',
    path: '/platform/v1/keys',
    summary: 'List the keys and certificates of channels, those that end first',
    roles: ROLES,
    auth: 'svcFF',
    query: Type.Object({ page: count(1, 'Page, from 1.'), size: count(50, 'Items per page.') }, closed),
    ok: pageOf(KeyInUse),
    codes: [400, 401, 403, 500],
  },
  inspectKey: {
    method: 'POST',
    tag: 'Keys',
    path: '/platform/v1/keys/inspect',
    summary: 'See fingerprint, names and dates of a key before it is set; nothing is kept',
    roles: ADMINISTRATORS,
    auth: 'administration',
    body: KeyText,
    ok: KeyFacts,
    codes: [400, 401, 403, 500],
  },
  generateChannelKey: {
    ...SIGN,
    method: 'POST',
    path: '/platform/v1/channels/{channelCode}/keys/local',
    summary: 'Make a new local key for a channel; the private part never leaves the node',
    params: ChannelParams,
    badCode: 400,
    body: NewKey,
    ok: KeyFacts,
    codes: [400, 401, 403, 404, 409, 500],
  },
  listProposedKeys: {
    ...SIGN,
    method: 'GET',
    path: '/platform/v1/proposed-keys',
    summary: 'List the keys that partners have proposed, newest first',
    query: Type.Object(
      {
        contactId: optional(
          Type.String({ maxLength: 255, pattern: '^[^\\u0000]*$', description: 'Only of this partner.' }),
        ),
        state: optional(oneOf(KEY_STATES, 'Only in this state.')),
        page: count(1, 'Page, from 1.'),
        size: count(50, 'Items per page.'),
      },
      closed,
    ),
    ok: pageOf(ProposedKey),
    codes: [400, 401, 403, 500],
  },
  acceptProposedKey: {
    ...SIGN,
    method: 'POST',
    path: '/platform/v1/proposed-keys/{keyId}/accept',
    summary: 'Accept a proposed key, on all channels of the partner, by naming its fingerprint',
    params: ProposalParams,
    body: SeenFingerprint,
    ok: KeyAccepted,
    codes: [400, 401, 403, 404, 409, 500],
  },
  refuseProposedKey: {
    ...SIGN,
    method: 'POST',
    path: '/platform/v1/proposed-keys/{keyId}/refuse',
    summary: 'Refuse a proposed key: it can no longer be accepted',
    params: ProposalParams,
    emptyBody: true,
    ok: ProposedKey,
    codes: [400, 401, 403, 404, 409, 500],
  },
} as const satisfies Record<string, Operation>

export type KeyInUse = Static<typeof KeyInUse>
export type KeyFacts = Static<typeof KeyFacts>
export type ChannelKeys = Static<typeof ChannelKeys>
export type ProposedKey = Static<typeof ProposedKey>
