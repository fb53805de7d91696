// Tokens for systems, as administrators make and take them back. A token itself is shown once, when it is made.

import type { Static } from 'typebox'
import type { Operation } from '../operations.ts'
import { pageOf } from '../page.ts'
import { name, oneOf } from '../schema.ts'
import { Type } from '../type.ts'
import { ADMINISTRATORS, LIST, ListQuery } from './changed.ts'

const out = (description: string) => Type.String({ description })
const time = (description: string) => Type.String({ description, format: 'date-time' })

const TOKEN_STATES = ['VALID', 'EXPIRED', 'REVOKED', 'NO_USER'] as const
export type TokenState = (typeof TOKEN_STATES)[number]

/** A year. */
export const MOST_TOKEN_HOURS = 365 * 24

export const SystemToken = Type.Object(
  {
    id: out('Identifier of the token.'),
    user: out('Whose rights it has.'),
    name: out('What it is for.'),
    state: oneOf(TOKEN_STATES, 'NO_USER: its user is gone or disabled.'),
    createdAt: time('When it was made.'),
    expiresAt: time('Until when it counts.'),
    lastUsedAt: Type.Optional(time('When it was last used, to the minute.')),
    revokedAt: Type.Optional(
      time('When it was taken back, or ended with a new password or a disabling of its user.'),
    ),
  },
  { description: 'A token for a system, without the token itself.' },
)
export type SystemToken = Static<typeof SystemToken>

export const NewToken = Type.Object(
  {
    user: name(64),
    name: Type.Optional(name(100)),
    hours: Type.Integer({
      minimum: 1,
      maximum: MOST_TOKEN_HOURS,
      description: 'How long it counts; a year at the most.',
    }),
  },
  { additionalProperties: false, description: 'A token to be made.' },
)

export const MadeToken = Type.Object(
  { ...SystemToken.properties, token: out('The token, shown this once.') },
  { description: 'A token that was just made.' },
)

const TokenParams = Type.Object({
  tokenId: Type.String({ maxLength: 64, pattern: '^[^\\u0000]*$', description: 'Identifier of the token.' }),
})
const ADMINISTRATION = { tag: 'Administration', roles: ADMINISTRATORS, auth: 'administration' } as const

export const tokenOperations = {
  listTokens: {
    ...LIST,
    path: '/platform/v1/tokens',
    summary: 'List tokens for systems, newest first',
    query: ListQuery,
    ok: pageOf(SystemToken),
  },
  createToken: {
    ...ADMINISTRATION,
    method: 'POST',
    path: '/platform/v1/tokens',
    summary: 'Make a token for a system',
    body: NewToken,
    ok: MadeToken,
    codes: [400, 401, 403, 404, 409, 500],
  },
  revokeToken: {
    ...ADMINISTRATION,
    method: 'DELETE',
    path: '/platform/v1/tokens/{tokenId}',
    summary: 'Take a token back',
    params: TokenParams,
    ok: SystemToken,
    codes: [400, 401, 403, 404, 409, 500],
  },
} as const satisfies Record<string, Operation>
