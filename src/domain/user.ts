// Who may do what. Roles and flags are read from the account at each request, never from the token.

import { AUTHS } from '../contract/user.ts'
import type { Auth, Auths, Role } from '../contract/user.ts'

export type User = {
  username: string
  email: string
  name?: string
  lastName?: string
  secondLastName?: string
  language: string
  role: Role
  auths: Auths
  disabled: boolean
}

const ON_BY_DEFAULT: Record<Role, readonly Auth[]> = {
  ROLE_GLOBALADMIN: AUTHS,
  ROLE_ADMIN: AUTHS,
  ROLE_ADVOPERATOR: ['operate', 'editChannels', 'contactChannels'],
  ROLE_OPERATOR: ['operate', 'contactChannels'],
  ROLE_CONTROLATOR: ['contactChannels', 'controlatorFF'],
  ROLE_ADMINFF: ['administrationFF', 'svcFF', 'contactChannels', 'signer'],
  ROLE_ADMINCONTROLATORFF: ['administrationFF', 'controlatorFF', 'svcFF', 'contactChannels'],
}

/** All eight flags: those given, the rest as the role has them by default. */
export function authsOf(role: Role, given: Partial<Auths> = {}): Auths {
  return Object.fromEntries(
    AUTHS.map((name) => [name, given[name] ?? ON_BY_DEFAULT[role].includes(name)]),
  ) as Auths
}

export function isAdministrator(user: Pick<User, 'role'>): boolean {
  return user.role === 'ROLE_GLOBALADMIN' || user.role === 'ROLE_ADMIN'
}

/** The permissions for signatures. `administration` includes them. */
export const SIGNATURE_AUTHS: readonly Auth[] = ['administrationFF', 'controlatorFF', 'svcFF', 'signer']

export function hasAuth({ auths }: Pick<User, 'auths'>, auth: Auth): boolean {
  return auths[auth] || (auths.administration && SIGNATURE_AUTHS.includes(auth))
}

/** A channel that names users is open only to them and to administrators. */
export function mayReach(
  user: Pick<User, 'username' | 'role'>,
  channelUsers: readonly string[] | undefined,
): boolean {
  return isAdministrator(user) || !channelUsers?.length || channelUsers.includes(user.username)
}

export function seesSecrets(user: User): boolean {
  return isAdministrator(user) && user.auths.administration
}

const PASSWORD_MIN_LENGTH = 12

/** Why a new password is not good enough; undefined when it is. */
export function weakPassword(
  password: string,
  user: { username: string; email: string },
): string | undefined {
  if (password.length < PASSWORD_MIN_LENGTH) return `must have at least ${PASSWORD_MIN_LENGTH} characters`
  const same = (other: string) => password.toLowerCase() === other.toLowerCase()
  if (same(user.username) || same(user.email)) return 'must not be the username or the email'
  return undefined
}
