// What everybody may do with their own account: password, language, sessions.

import type { Static } from 'typebox'
import type { Operation } from '../operations.ts'
import { oneOf } from '../schema.ts'
import { Type } from '../type.ts'
import { ROLES } from '../user.ts'
import { Ended, Session } from './session.ts'

const out = (description: string) => Type.String({ description })
const time = (description: string) => Type.String({ description, format: 'date-time' })
const closed = { additionalProperties: false } as const

/** Those that the console speaks. */
export const LANGUAGES = ['en', 'es'] as const

export const OwnSession = Type.Object(
  {
    id: out('Identifier of the session.'),
    current: Type.Boolean({ description: 'It is the one that asks.' }),
    createdAt: time('When it was opened.'),
    seenAt: time('When it was last used, to the minute.'),
    expiresAt: time('When it ends by itself.'),
    from: Type.Optional(out('From which address it was opened.')),
    agent: Type.Optional(out('What the browser calls itself.')),
  },
  { description: 'A session of the console.' },
)
export type OwnSession = Static<typeof OwnSession>

export const OwnSessions = Type.Object(
  { sessions: Type.Array(OwnSession, { description: 'Newest first.' }) },
  { description: 'Where a user is signed in to the console.' },
)

export const PasswordChange = Type.Object(
  {
    current: Type.String({ maxLength: 1024, description: 'The password that holds until now.' }),
    password: Type.String({
      maxLength: 1024,
      pattern: '^[^\\u0000]*$',
      description: 'The new one: at least 12 characters, not the username or the e-mail address.',
    }),
  },
  { ...closed, description: 'A change of one’s own password.' },
)

export const LanguageChange = Type.Object(
  { language: oneOf(LANGUAGES, 'Language of the console and of mails.') },
  { ...closed, description: 'A change of one’s own language.' },
)

const SessionParams = Type.Object({
  sessionId: Type.String({
    maxLength: 255,
    pattern: '^[^\\u0000]*$',
    description: 'Identifier of the session.',
  }),
})

const OWN = { tag: 'Account', roles: ROLES } as const

export const ownAccountOperations = {
  listOwnSessions: {
    ...OWN,
    method: 'GET',
    path: '/platform/v1/account/sessions',
    summary: 'Where you are signed in to the console',
    ok: OwnSessions,
    codes: [400, 401, 403, 500],
  },
  endOwnSession: {
    ...OWN,
    method: 'DELETE',
    path: '/platform/v1/account/sessions/{sessionId}',
    summary: 'End one of your sessions',
    params: SessionParams,
    ok: Ended,
    codes: [400, 401, 403, 404, 500],
  },
  endOwnSessions: {
    ...OWN,
    method: 'DELETE',
    path: '/platform/v1/account/sessions',
    summary: 'Sign out everywhere',
    details: 'Ends every session of the console and every login, this one included. Tokens for systems stay.',
    ok: Ended,
    codes: [400, 401, 403, 500],
  },
  changeOwnPassword: {
    ...OWN,
    method: 'PUT',
    path: '/platform/v1/account/password',
    summary: 'Change your password',
    details:
      'Every other session, login and token of yours ends; a session of the console that asks goes on.',
    body: PasswordChange,
    ok: Session,
    codes: [400, 401, 403, 409, 429, 500],
  },
  changeOwnLanguage: {
    ...OWN,
    method: 'PUT',
    path: '/platform/v1/account/language',
    summary: 'Choose your language',
    body: LanguageChange,
    ok: Session,
    codes: [400, 401, 403, 500],
  },
} as const satisfies Record<string, Operation>
