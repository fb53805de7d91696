// `esclusa user …`: changes accounts directly in the database. A running node reads accounts at each request, so a
// change has effect at once. A new password, or disabling the account, ends its tokens.

import { hashPassword } from '../../accounts/password.ts'
import { ROLES } from '../../contract/user.ts'
import { authsOf, weakPassword } from '../../domain/user.ts'
import { NodeError } from '../../errors.ts'
import {
  findAccount,
  findAccountByEmail,
  listAccounts,
  putAccount,
  removeAccount,
} from '../../store/accounts.ts'
import type { Account } from '../../store/accounts.ts'
import type { Store, Tx } from '../../store/database/store.ts'
import { HIDDEN_IN_USERS, shownAccount } from '../../platform/audit-notes.ts'
import { schemaFaults } from '../../platform/schema-faults.ts'
import { readNewPassword } from '../password-input.ts'
import { say, sayJson, sayTable } from '../print.ts'
import { withPlatform } from './with-platform.ts'
import type { OpenPlatform } from './with-platform.ts'

export type NewUser = {
  email?: string
  role?: string
  name?: string
  lastName?: string
  secondLastName?: string
  language: string
  /** False: no login by password. */
  password: boolean
}

export async function addUser(username: string, options: NewUser): Promise<void> {
  const { email, role: written, name, lastName, secondLastName, language } = options
  if (email === undefined || written === undefined)
    throw new NodeError(
      'bad_use',
      'an account needs --email and --role: esclusa user add NAME --email ADDRESS --role ROLE',
    )
  const role = ROLES.find((one) => one === written)
  if (!role) throw new NodeError('bad_use', `--role must be one of ${ROLES.join(', ')}, not "${written}"`)
  if (!/^[^\p{Cc}]{1,64}$/u.test(username))
    throw new NodeError('bad_use', 'a username has 1 to 64 characters')
  if (!/^[^\s@]+@[^\s@]+$/.test(email))
    throw new NodeError('bad_use', `--email must be an e-mail address, not "${email}"`)
  const names = {
    ...(name && { name }),
    ...(lastName && { lastName }),
    ...(secondLastName && { secondLastName }),
  }
  // Whatever else a platform file would be refused for.
  const [fault] = schemaFaults({ users: [{ username, email, role, language, ...names }] })
  if (fault) throw new NodeError('bad_use', `${fault.pointer.replace('/users/0/', '')} ${fault.message}`)
  await withPlatform(
    async ({ store, audit, actor }) => {
      await requireFree(store.db as Tx, username, email) // only an earlier answer than the one below
      const passwordHash = options.password ? await newHash({ username, email }) : null
      await store.write(async (tx) => {
        await requireFree(tx, username, email)
        const rights = { role, auths: authsOf(role), disabled: false }
        const account = { username, email, ...names, language, ...rights, passwordHash, credentialVersion: 1 }
        await putAccount(tx, account)
        await audit.add(tx, actor, [
          {
            action: 'USER_CREATED',
            subject: { kind: 'user', name: username },
            changes: audit.changes(undefined, shownAccount(account), HIDDEN_IN_USERS),
          },
        ])
      })
    },
    { makes: true },
  )
  say(`+ user ${username} (${role})`)
}

async function requireFree(tx: Tx, username: string, email: string): Promise<void> {
  if (await findAccount(tx, username)) throw new NodeError('conflict', `user ${username} exists already`)
  if (await findAccountByEmail(tx, email))
    throw new NodeError('conflict', `${email} is the e-mail address of another user`)
}

async function newHash(user: { username: string; email: string }): Promise<string> {
  const password = await readNewPassword(`new password of ${user.username}: `)
  const weak = weakPassword(password, user)
  if (weak) throw new NodeError('bad_use', `the password ${weak}`)
  return hashPassword(password)
}

export async function changePassword(username: string): Promise<void> {
  await withPlatform(async (platform) => {
    const passwordHash = await newHash(await requireAccount(platform.store, username))
    await change(platform, username, 'PASSWORD_CHANGED', () => ({ passwordHash }))
  })
  say(`~ user ${username} (password; older tokens have ended)`)
}

export async function setDisabled(username: string, disabled: boolean): Promise<void> {
  const changed = await withPlatform((platform) =>
    change(platform, username, 'USER_CHANGED', (account) =>
      account.disabled === disabled ? undefined : { disabled },
    ),
  )
  if (changed) say(`~ user ${username} (${disabled ? 'disabled; older tokens have ended' : 'enabled'})`)
  else say(`user ${username} is ${disabled ? 'disabled' : 'enabled'} already`)
}

/** The first administrator of a platform without any other is made by a start, so even the last one may go. */
export async function removeUser(username: string): Promise<void> {
  await withPlatform(async ({ store, audit, actor }) => {
    await requireAccount(store, username)
    await store.write(async (tx) => {
      const account = await findAccount(tx, username)
      if (!account) return
      await removeAccount(tx, username)
      await audit.add(tx, actor, [
        {
          action: 'USER_REMOVED',
          subject: { kind: 'user', name: username },
          changes: audit.changes(shownAccount(account), undefined, HIDDEN_IN_USERS),
        },
      ])
    })
  })
  say(`- user ${username} (its tokens have ended)`)
}

type Change = (account: Account) => Partial<Account> | undefined

async function change(
  { store, audit, actor }: OpenPlatform,
  username: string,
  action: 'PASSWORD_CHANGED' | 'USER_CHANGED',
  how: Change,
): Promise<boolean> {
  await requireAccount(store, username)
  return store.write(async (tx) => {
    const account = await findAccount(tx, username)
    const changes = account && how(account)
    if (!account || !changes) return false
    const after = { ...account, ...changes, credentialVersion: account.credentialVersion + 1 }
    await putAccount(tx, after)
    await audit.add(tx, actor, [
      {
        action,
        subject: { kind: 'user', name: username },
        changes: audit.changes(shownAccount(account), shownAccount(after), HIDDEN_IN_USERS),
      },
    ])
    return true
  })
}

async function requireAccount(store: Store, username: string): Promise<Account> {
  const account = await findAccount(store.db, username)
  if (!account) throw new NodeError('not_found', `there is no user ${username}`)
  return account
}

export async function listUsers(options: { json?: boolean }): Promise<void> {
  const accounts = await withPlatform(({ store }) => listAccounts(store.db))
  if (options.json)
    return sayJson(
      accounts.map(
        ({ passwordHash: _hash, credentialVersion: _version, loginVersion: _login, id: _id, ...user }) =>
          user,
      ),
    )
  const rows = accounts.map((account) => ({
    USERNAME: account.username,
    EMAIL: account.email,
    ROLE: account.role,
    LOGIN: account.disabled ? 'disabled' : account.passwordHash === null ? 'tokens only' : 'password',
  }))
  sayTable(rows, 'there is no user yet')
}
