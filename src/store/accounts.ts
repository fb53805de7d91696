// Accounts of people and systems.

import type { Auths, Role } from '../contract/user.ts'
import type { User } from '../domain/user.ts'
import { hot } from './database/prepared-queries.ts'
import type { Db, Tx } from './database/store.ts'
import type { AccountRow } from './database/tables.ts'

export type Account = User & {
  passwordHash: string | null
  /** Tokens carry this number. A new password or disabling the account raises it: older tokens are then refused. */
  credentialVersion: number
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

export async function listAccounts(db: Db): Promise<Account[]> {
  return (await db.selectFrom('account').selectAll().orderBy('username').execute()).map(toAccount)
}

export async function hasAccounts(db: Db): Promise<boolean> {
  return (await db.selectFrom('account').select('username').limit(1).execute()).length > 0
}

/** Inserts the account, or replaces it. */
export async function putAccount(tx: Tx, account: Account): Promise<void> {
  const row = toRow(account)
  await tx
    .insertInto('account')
    .values(row)
    .onConflict((conflict) => conflict.column('username').doUpdateSet(row))
    .execute()
}

export async function removeAccount(tx: Tx, username: string): Promise<void> {
  await tx.deleteFrom('account').where('username', '=', username).execute()
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
  }
}

function toRow(account: Account): AccountRow {
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
