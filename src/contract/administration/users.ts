// Users as administrators see and change them. The shape is the platform file's.

import type { Static } from 'typebox'
import type { Operation } from '../operations.ts'
import { pageOf } from '../page.ts'
import { oneOf, secretText } from '../schema.ts'
import { Type } from '../type.ts'
import { AUTHS, ROLES } from '../user.ts'
import type { Auth } from '../user.ts'
import { CHANGE, CREATE, LIST, ListQuery, READ, UserParams } from './changed.ts'
import { PlatformUser } from './platform-file.ts'

const out = (description: string) => Type.String({ description })
const flags = Object.fromEntries(AUTHS.map((name) => [name, Type.Boolean()])) as Record<
  Auth,
  ReturnType<typeof Type.Boolean>
>

export const UserAccount = Type.Object(
  {
    username: out('Name of the user.'),
    email: out('E-mail address.'),
    name: Type.Optional(out('First name.')),
    lastName: Type.Optional(out('Last name.')),
    secondLastName: Type.Optional(out('Second last name.')),
    language: out('Language of the user.'),
    role: oneOf(ROLES, 'Role code.'),
    auths: Type.Object(flags, { description: 'Permission flags.' }),
    disabled: Type.Boolean({ description: 'No login, no token counts.' }),
    login: oneOf(['PASSWORD', 'TOKENS'] as const, 'PASSWORD: signs in by password; TOKENS: only by tokens.'),
  },
  { description: 'A user, without its password.' },
)
export type UserAccount = Static<typeof UserAccount>

const { passwordHash: _hash, username, ...fields } = PlatformUser.properties
const closed = { additionalProperties: false } as const
export const NewUser = Type.Object(
  { username, ...fields },
  { ...closed, description: 'A user to be made; without a password it has tokens only.' },
)
export const UserFields = Type.Object(fields, {
  ...closed,
  description: 'A user as it shall be: what is left out is cleared, but for the password, which stays.',
})
export const NewPassword = Type.Object(
  {
    password: Type.Unsafe<string | null>({
      ...secretText(1024),
      type: ['string', 'null'],
      description: 'null: no login by password.',
    }),
  },
  { ...closed, description: 'A new password; every session and token of the user ends.' },
)

export const userOperations = {
  listUsers: {
    ...LIST,
    path: '/platform/v1/users',
    summary: 'List users, by name',
    query: ListQuery,
    ok: pageOf(UserAccount),
  },
  readUser: {
    ...READ,
    path: '/platform/v1/users/{username}',
    summary: 'Read a user',
    params: UserParams,
    ok: UserAccount,
  },
  createUser: {
    ...CREATE,
    path: '/platform/v1/users',
    summary: 'Make a user',
    body: NewUser,
  },
  changeUser: {
    ...CHANGE,
    method: 'PUT',
    path: '/platform/v1/users/{username}',
    summary: 'Change a user: role, flags, names, disabled',
    params: UserParams,
    body: UserFields,
  },
  setUserPassword: {
    ...CHANGE,
    method: 'PUT',
    path: '/platform/v1/users/{username}/password',
    summary: 'Give a user another password',
    params: UserParams,
    body: NewPassword,
  },
  removeUser: {
    ...CHANGE,
    method: 'DELETE',
    path: '/platform/v1/users/{username}',
    summary: 'Remove a user',
    params: UserParams,
  },
} as const satisfies Record<string, Operation>
