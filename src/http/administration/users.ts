// Users made, changed and removed. Who may do what to whom stands in change-rules.ts.

import { makePage } from '../../contract/page.ts'
import type { UserAccount } from '../../contract/administration/users.ts'
import type { Present } from '../../platform/plan.ts'
import { findAccount, listAccounts } from '../../store/accounts.ts'
import type { Account } from '../../store/accounts.ts'
import { askedPage } from '../integration/paging.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'
import { showTag, tagOf } from '../revision.ts'
import { wordsOf } from '../words.ts'
import { changePlatform, current, requireNew, requireThere } from './change.ts'
import type { ChangeCall } from './change.ts'
import { requireGlobal } from './change-rules.ts'

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
  const { username } = call.body
  return changePlatform(context, call, {
    put: { users: [{ ...call.body, password: call.body.password ?? null }] },
    onlyChannels: [],
    forbidFirst: (present) => requireNew(accountOf(present, username), `user ${username}`),
  })
}

const changeUser: PlatformHandler<'changeUser'> = (context, call) => {
  const { username } = call.input
  return changePlatform(context, call, {
    put: { users: [{ username, ...call.body }] },
    onlyChannels: [],
    forbidFirst: (present) => requireTouchable(call, present, username),
  })
}

const setUserPassword: PlatformHandler<'setUserPassword'> = async (context, call) => {
  const { username } = call.input
  const account = requireThere(await findAccount(context.store.db, username), `user ${username}`)
  const { login: _login, ...fields } = toWire(account)
  return changePlatform(context, call, {
    put: { users: [{ ...fields, password: call.body.password }] },
    onlyChannels: [],
    forbidFirst: (present) => requireTouchable(call, present, username),
  })
}

const removeUser: PlatformHandler<'removeUser'> = (context, call) => {
  const { username } = call.input
  return changePlatform(context, call, {
    remove: { accounts: [username] },
    onlyChannels: [],
    forbidFirst: (present) => requireTouchable(call, present, username),
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

/** Even where nothing would change, a ROLE_ADMIN has no business with a ROLE_GLOBALADMIN. */
function requireTouchable(call: ChangeCall, present: Present, username: string): void {
  const account = current(call, present, (all) => accountOf(all, username), `user ${username}`)
  requireGlobal(call.user, account.role)
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
