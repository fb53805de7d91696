// Users made, changed and removed. Nobody locks the last administrator out, and nobody gives what they do not have: a
// ROLE_ADMIN neither makes nor touches a ROLE_GLOBALADMIN.

import { makePage } from '../../contract/page.ts'
import type { UserAccount } from '../../contract/administration/users.ts'
import { NodeError } from '../../errors.ts'
import type { Present } from '../../platform/plan.ts'
import { findAccount, listAccounts } from '../../store/accounts.ts'
import type { Account } from '../../store/accounts.ts'
import { askedPage } from '../integration/paging.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'
import { showTag, tagOf } from '../revision.ts'
import { wordsOf } from '../words.ts'
import { changePlatform, current, requireNew, requireThere } from './change.ts'
import type { ChangeCall } from './change.ts'

const listUsers: PlatformHandler<'listUsers'> = async (context, { input }) => {
  const words = wordsOf(input.search ?? '')
  const asked = askedPage(context, input)
  const all = (await listAccounts(context.store.db))
    .filter((account) => {
      const { username, email, name = '', lastName = '', role } = account
      const text = [username, email, name, lastName, role].join('\n').toLowerCase()
      return words.every((word) => text.includes(word))
    })
    .sort((a, b) => (a.username < b.username ? -1 : 1))
  return makePage(all.slice(asked.offset, asked.offset + asked.size).map(toWire), all.length, asked)
}

const readUser: PlatformHandler<'readUser'> = async (context, { input, reply }) => {
  const account = requireThere(await findAccount(context.store.db, input.username), `user ${input.username}`)
  showTag(reply, tagOf(account))
  return toWire(account)
}

const createUser: PlatformHandler<'createUser'> = (context, call) => {
  const { username, role } = call.body
  return changePlatform(context, call, {
    put: { users: [{ ...call.body, password: call.body.password ?? null }] },
    onlyChannels: [],
    forbid: (present) => {
      requireNew(accountOf(present, username), `user ${username}`)
      requireGlobal(call, role)
    },
  })
}

const changeUser: PlatformHandler<'changeUser'> = (context, call) => {
  const { username } = call.input
  const after = { username, ...call.body }
  return changePlatform(context, call, {
    put: { users: [after] },
    onlyChannels: [],
    forbid: (present) => {
      const before = touchable(call, present, username)
      requireGlobal(call, after.role)
      const stays = after.role === 'ROLE_GLOBALADMIN' && after.disabled !== true
      if (!stays) requireAnother(present, before)
      const own = before.username === call.user.username
      if (own && (after.disabled === true || after.role !== before.role))
        throw new NodeError('conflict', 'you cannot disable yourself or give yourself another role')
    },
  })
}

const setUserPassword: PlatformHandler<'setUserPassword'> = async (context, call) => {
  const { username } = call.input
  const account = requireThere(await findAccount(context.store.db, username), `user ${username}`)
  const { login: _login, ...fields } = toWire(account)
  return changePlatform(context, call, {
    put: { users: [{ ...fields, password: call.body.password }] },
    onlyChannels: [],
    forbid: (present) => void touchable(call, present, username),
  })
}

const removeUser: PlatformHandler<'removeUser'> = (context, call) => {
  const { username } = call.input
  return changePlatform(context, call, {
    remove: { accounts: [username] },
    onlyChannels: [],
    forbid: (present) => {
      requireAnother(present, touchable(call, present, username))
      if (username === call.user.username) throw new NodeError('conflict', 'you cannot remove yourself')
    },
  })
}

export const userHandlers = {
  listUsers,
  readUser,
  createUser,
  changeUser,
  setUserPassword,
  removeUser,
} satisfies Partial<PlatformHandlers>

function accountOf({ accounts }: Present, username: string): Account | undefined {
  return accounts.find((one) => one.username === username)
}

function touchable(call: ChangeCall, present: Present, username: string): Account {
  const account = current(call, present, (all) => accountOf(all, username), `user ${username}`)
  requireGlobal(call, account.role)
  return account
}

export function requireGlobal({ user }: Pick<ChangeCall, 'user'>, role: string): void {
  if (role === 'ROLE_GLOBALADMIN' && user.role !== 'ROLE_GLOBALADMIN')
    throw new NodeError('forbidden', 'only a ROLE_GLOBALADMIN makes or changes a ROLE_GLOBALADMIN')
}

/** Without one that can sign in nobody could ever make one again from outside. */
function requireAnother({ accounts }: Present, { username, role, disabled }: Account): void {
  if (role !== 'ROLE_GLOBALADMIN' || disabled) return
  const others = accounts.filter(
    (one) => one.username !== username && one.role === 'ROLE_GLOBALADMIN' && !one.disabled,
  )
  if (others.length === 0)
    throw new NodeError('conflict', `${username} is the only ROLE_GLOBALADMIN: make another one first`)
}

function toWire(account: Account): UserAccount {
  const { username, email, name, lastName, secondLastName, language, role, auths, disabled } = account
  return {
    username,
    email,
    ...(name !== undefined && { name }),
    ...(lastName !== undefined && { lastName }),
    ...(secondLastName !== undefined && { secondLastName }),
    language,
    role,
    auths,
    disabled,
    login: account.passwordHash === null ? 'TOKENS' : 'PASSWORD',
  }
}
