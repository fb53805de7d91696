// Accounts of people and systems.

import { sql } from 'kysely'
import { randomUUID } from 'node:crypto'
import type { Auths, Role } from '../contract/user.ts'
import type { User } from '../domain/user.ts'
import { batches } from './database/batches.ts'
import { hot } from './database/prepared-queries.ts'
import type { Db, Tx } from './database/store.ts'
import type { AccountRow } from './database/tables.ts'

/** An account as it is written; the store gives it its id. */
export type NewAccount = User & {
  passwordHash: string | null
  /** Tokens carry this number. A new password or disabling the account raises it: older tokens are then refused. */
  credentialVersion: number
}

export type Account = NewAccount & {
  /** Never used twice: an account made again under the same name has another. Tokens carry it. */
  id: string
  /** Logins carry this number. Signing out everywhere raises it. */
  loginVersion: number
}

const byUsername = hot<{ username: string }, AccountRow>((db, arg) =>
  db.selectFrom('account').selectAll().where('username', '=', arg('username')),
)
const byEmail = hot<{ emailKey: string }, AccountRow>((db, arg) =>
  db.selectFrom('account').selectAll().where('email_key', '=', arg('emailKey')),
)

export async function findAccount(db: Db, username: string): Promise<Account | undefined> {
  // No name contains a NUL, and PostgreSQL refuses a query that has one.
  if (username.includes('\0')) return undefined
  return (await byUsername(db, { username })).map(toAccount)[0]
}

export async function findAccountByEmail(db: Db, email: string): Promise<Account | undefined> {
  if (email.includes('\0')) return undefined
  return (await byEmail(db, { emailKey: email.toLowerCase() })).map(toAccount)[0]
}

/** Those of the names that accounts have. */
export async function usernamesAmong(db: Db, names: readonly string[] = []): Promise<Set<string>> {
  const found = new Set<string>()
  for (const some of batches(names)) {
    const rows = await db.selectFrom('account').select('username').where('username', 'in', some).execute()
    for (const { username } of rows) found.add(username)
  }
  return found
}

export async function listAccounts(db: Db): Promise<Account[]> {
  return (await db.selectFrom('account').selectAll().orderBy('username').execute()).map(toAccount)
}

export async function hasAccounts(db: Db): Promise<boolean> {
  return (await db.selectFrom('account').select('username').limit(1).execute()).length > 0
}

/** Inserts the account, or replaces it. With other credentials its tokens for systems have ended, and are shown so. */
export async function putAccount(tx: Tx, account: NewAccount): Promise<void> {
  const row = toRow(account)
  await tx
    .updateTable('api_token')
    .set({ revoked_at: Date.now() })
    .where('revoked_at', 'is', null)
    .where('account_id', 'in', (query) =>
      query
        .selectFrom('account')
        .select('id')
        .where('username', '=', row.username)
        .where('credential_version', '!=', row.credential_version),
    )
    .execute()
  await tx
    .insertInto('account')
    .values({ ...row, id: randomUUID(), login_version: 0 })
    .onConflict((conflict) => conflict.column('username').doUpdateSet(row))
    .execute()
  await accountsChanged(tx)
}

/** Gives the address up, for a transaction in which addresses pass from one account to another: a put brings the next. */
export async function giveUpEmail(tx: Tx, username: string): Promise<void> {
  // What stands there meanwhile is no e-mail address, and no other account has it.
  await tx.updateTable('account').set({ email_key: randomUUID() }).where('username', '=', username).execute()
}

/** Its tokens and sessions go with it. */
export async function removeAccount(tx: Tx, username: string): Promise<void> {
  const account = await findAccount(tx, username)
  if (!account) return
  await tx.deleteFrom('api_token').where('account_id', '=', account.id).execute()
  await tx.deleteFrom('console_session').where('account_id', '=', account.id).execute()
  await tx.deleteFrom('account').where('username', '=', username).execute()
  await accountsChanged(tx)
}

/** Whoever is logged in must log in again. */
export async function endLogins(tx: Tx, username: string): Promise<void> {
  await tx
    .updateTable('account')
    .set((row) => ({ login_version: row('login_version', '+', 1) }))
    .where('username', '=', username)
    .execute()
  await accountsChanged(tx)
}

const FIRST_RUN = 'first_run_code'

/** The hash of the one-time code, while nobody has signed in to the platform yet. */
export async function firstRunHash(db: Db): Promise<string | undefined> {
  const [row] = await db.selectFrom('meta').select('value').where('name', '=', FIRST_RUN).execute()
  return row?.value
}

export async function openFirstRun(tx: Tx, codeHash: string): Promise<void> {
  await closeFirstRun(tx)
  await tx.insertInto('meta').values({ name: FIRST_RUN, value: codeHash }).execute()
}

export async function closeFirstRun(tx: Tx): Promise<void> {
  await tx.deleteFrom('meta').where('name', '=', FIRST_RUN).execute()
}

/** In every transaction that changes accounts or tokens: whoever has a stream open is looked at again. */
export async function accountsChanged(tx: Tx): Promise<void> {
  await sql`update meta set value = cast(cast(value as integer) + 1 as text) where name = 'accounts_version'`.execute(
    tx,
  )
}

const accessVersions = hot<object, { value: string }>((db) =>
  db
    .selectFrom('meta')
    .select('value')
    .where('name', 'in', ['accounts_version', 'directory_version'])
    .orderBy('name'),
)

/** Another text as soon as accounts, tokens or who may reach which channel have changed: one tiny read. */
export async function accessVersion(db: Db): Promise<string> {
  return (await accessVersions(db, {})).map(({ value }) => value).join('/')
}

// SQLite answers with the same rows while nothing changes.
const accounts = new WeakMap<AccountRow, Account>()

function toAccount(row: AccountRow): Account {
  let account = accounts.get(row)
  if (!account) accounts.set(row, (account = parseRow(row)))
  return account
}

function parseRow(row: AccountRow): Account {
  return {
    // A node of the version before writes none.
    id: row.id ?? legacyId(row.username),
    username: row.username,
    email: row.email,
    ...(row.name !== null && { name: row.name }),
    ...(row.last_name !== null && { lastName: row.last_name }),
    ...(row.second_last_name !== null && { secondLastName: row.second_last_name }),
    language: row.language,
    role: row.role as Role, // written by toRow alone
    auths: JSON.parse(row.auths) as Auths, // written by toRow alone
    disabled: row.disabled === 1,
    passwordHash: row.password_hash,
    credentialVersion: row.credential_version,
    loginVersion: row.login_version,
  }
}

/** The id of an account that is older than ids; the migration gives the same. */
export function legacyId(username: string): string {
  return `account ${username}`
}

function toRow(account: NewAccount): Omit<AccountRow, 'id' | 'login_version'> {
  return {
    username: account.username,
    email: account.email,
    email_key: account.email.toLowerCase(),
    name: account.name ?? null,
    last_name: account.lastName ?? null,
    second_last_name: account.secondLastName ?? null,
    language: account.language,
    role: account.role,
    auths: JSON.stringify(account.auths),
    password_hash: account.passwordHash,
    credential_version: account.credentialVersion,
    disabled: account.disabled ? 1 : 0,
  }
}
