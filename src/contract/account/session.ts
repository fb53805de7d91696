// Who is signed in, and the console's sessions: a cookie that only the node reads. The interface for systems stays with
// bearer tokens.

import type { Static } from 'typebox'
import type { Operation } from '../operations.ts'
import { oneOf } from '../schema.ts'
import { Type } from '../type.ts'
import { AUTHS, LoginV2, ROLES } from '../user.ts'
import type { Auth } from '../user.ts'

/** Every change by cookie carries it, with any value: no page of another origin can make a browser send it. */
export const CONSOLE_HEADER = 'x-esclusa-console'

/**
 * Names the user that a page shows, percent-encoded. The tabs of a browser share the cookie: without it a page that still
 * shows one user would act as whoever signed in last.
 */
export const SHOWN_USER_HEADER = 'x-esclusa-user'

const out = (description: string) => Type.String({ description })
const time = (description: string) => Type.String({ description, format: 'date-time' })
const optional = Type.Optional

export const Session = Type.Object(
  {
    username: out('Name of the user.'),
    name: optional(out('First name.')),
    lastName: optional(out('Last name.')),
    email: out('E-mail address.'),
    role: oneOf(ROLES, 'Role code.'),
    language: out('Language of the user.'),
    auths: Type.Object(
      Object.fromEntries(AUTHS.map((name) => [name, Type.Boolean()])) as Record<
        Auth,
        ReturnType<typeof Type.Boolean>
      >,
      { description: 'Permission flags.' },
    ),
    expiresAt: time('When the token or the session expires.'),
    now: time('The node’s clock.'),
    timeZone: out('The node’s time zone.'),
  },
  { description: 'Who is signed in, as of now.' },
)
export type Session = Static<typeof Session>

export const Ended = Type.Object(
  { ended: Type.Integer({ format: 'int32', description: 'Sessions that were ended.' }) },
  { description: 'How many sessions of the console were ended.' },
)

const READ = { method: 'GET', tag: 'Account', roles: ROLES } as const

export const sessionOperations = {
  session: {
    ...READ,
    path: '/platform/v1/session',
    summary: 'Who is signed in, and until when',
    ok: Session,
    codes: [400, 401, 403, 500],
  },
  openSession: {
    method: 'POST',
    path: '/platform/v1/session',
    tag: 'Account',
    summary: 'Sign in to the console',
    details: `Sets a cookie (HttpOnly, SameSite=Strict) that counts as long as a session, at most twelve hours. Whoever changes something with it sends the header ${CONSOLE_HEADER} as well. A request that names a user in the header ${SHOWN_USER_HEADER} (percent-encoded) is answered 401 where the session is another user's. The session whose cookie is replaced ends. Systems use bearer tokens.`,
    roles: 'public',
    body: LoginV2,
    ok: Session,
    codes: [400, 401, 429, 500],
  },
  endSession: {
    method: 'DELETE',
    path: '/platform/v1/session',
    tag: 'Account',
    summary: 'Sign out of the console',
    details: 'The session ends on the node, whatever becomes of the cookie. A bearer token is no session.',
    roles: ROLES,
    ok: Ended,
    codes: [400, 401, 403, 500],
  },
} as const satisfies Record<string, Operation>
