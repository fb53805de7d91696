// The first run: a platform without people asks in the browser for its first administrator. Whoever starts the node has
// the one-time code for it.

import type { Operation } from '../operations.ts'
import { name, oneOf } from '../schema.ts'
import { Type } from '../type.ts'
import { PlatformUser } from '../administration/platform-file.ts'
import { LANGUAGES } from './own-account.ts'
import { Session } from './session.ts'

export const FirstRun = Type.Object(
  {
    open: Type.Boolean({
      description: 'Nobody has signed in yet: the node waits for its first administrator.',
    }),
  },
  { description: 'Whether the platform still needs its first administrator.' },
)

export const FirstAdministrator = Type.Object(
  {
    code: Type.String({
      maxLength: 64,
      description: 'The one-time code that the node gave when it started.',
    }),
    username: name(64),
    email: PlatformUser.properties.email,
    password: Type.String({
      maxLength: 1024,
      pattern: '^[^\\u0000]*$',
      description: 'At least 12 characters, not the username or the e-mail address.',
    }),
    language: Type.Optional(oneOf(LANGUAGES, 'Language of the console and of mails.')),
  },
  { additionalProperties: false, description: 'The first administrator, ROLE_GLOBALADMIN.' },
)

export const firstRunOperations = {
  firstRun: {
    method: 'GET',
    path: '/platform/v1/first-run',
    tag: 'Account',
    summary: 'Whether the platform still needs its first administrator',
    roles: 'public',
    ok: FirstRun,
    codes: [400, 500],
  },
  makeFirstAdministrator: {
    method: 'POST',
    path: '/platform/v1/first-run',
    tag: 'Account',
    summary: 'Make the first administrator',
    details: 'Takes the place of the `admin` that the first start made, and signs in to the console.',
    roles: 'public',
    body: FirstAdministrator,
    ok: Session,
    codes: [400, 401, 409, 429, 500],
  },
} as const satisfies Record<string, Operation>
