// Users, roles and permission flags, and the two forms of login.

import type { Static } from 'typebox'
import { Type } from './type.ts'

export const ROLES = [
  'ROLE_GLOBALADMIN',
  'ROLE_ADMIN',
  'ROLE_ADVOPERATOR',
  'ROLE_OPERATOR',
  'ROLE_CONTROLATOR',
  'ROLE_ADMINFF',
  'ROLE_ADMINCONTROLATORFF',
] as const

export const AUTHS = [
  'operate',
  'administration',
  'editChannels',
  'administrationFF',
  'controlatorFF',
  'svcFF',
  'contactChannels',
  'signer',
] as const

/** Who may read transfers. A controlator sees channels only. */
export const TRANSFER_READERS = ROLES.filter((role) => role !== 'ROLE_CONTROLATOR')

/** Who may act on transfers. */
export const OPERATORS = [
  'ROLE_GLOBALADMIN',
  'ROLE_ADMIN',
  'ROLE_ADVOPERATOR',
  'ROLE_OPERATOR',
] as const satisfies (typeof ROLES)[number][]

export type Role = (typeof ROLES)[number]
export type Auth = (typeof AUTHS)[number]
export type Auths = Record<Auth, boolean>

/** The v1 login shows five of the eight flags. */
export const V1_AUTHS = [
  'operate',
  'administration',
  'editChannels',
  'svcFF',
  'contactChannels',
] as const satisfies Auth[]

const credential = (description: string) => Type.String({ description, maxLength: 1024 })

export const LoginV1 = Type.Object(
  { email: credential('E-mail address of the user.'), password: credential('Password.') },
  { additionalProperties: false, description: 'Credentials, older form.' },
)

export const LoginV2 = Type.Object(
  { username: credential('Name of the user.'), password: credential('Password.') },
  { additionalProperties: false, description: 'Credentials.' },
)

const out = (description: string) => Type.String({ description })

function loginResponse<A extends Auth>(auths: readonly A[], form: string) {
  const flags = Object.fromEntries(auths.map((name) => [name, Type.Boolean()])) as Record<
    A,
    ReturnType<typeof Type.Boolean>
  >
  return Type.Object(
    {
      token: out(`Bearer token${form}.`),
      refresh_token: out('Returned for compatibility; nothing accepts it.'),
      expiration_token: out('When the token expires, dd-MM-yyyy HH:mm:ss.'),
      user: Type.Object({
        name: Type.Optional(out('First name.')),
        lastName: Type.Optional(out('Last name.')),
        secondLastName: Type.Optional(out('Second last name.')),
        email: Type.Optional(out('E-mail address.')),
        role: Type.Optional(out('Role code.')),
        language: Type.Optional(out('Language of the user.')),
        auths: Type.Object(flags, { description: 'Permission flags.' }),
      }),
    },
    { description: 'A token and the user it belongs to.' },
  )
}

export const LoginResponseV1 = loginResponse(V1_AUTHS, ', with the prefix "Bearer "')
export const LoginResponseV2 = loginResponse(AUTHS, '')

export type LoginResponseV1 = Static<typeof LoginResponseV1>
export type LoginResponseV2 = Static<typeof LoginResponseV2>
