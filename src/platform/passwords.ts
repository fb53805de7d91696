// Hashes the passwords of a file's users and partners before the transaction: Argon2 is slow, and the database must not wait
// for it. If a password fits the hash that is there, the hash stays. So applying twice changes nothing.

import { hashPassword, isPasswordHash, verifyPassword } from '../accounts/password.ts'
import type { Account } from '../store/accounts.ts'
import { findContacts, openProtocolSections } from '../store/contacts.ts'
import type { Db } from '../store/database/store.ts'
import type { Seal } from '../store/seal.ts'
import { olderAtWork } from '../store/transfers/signs-of-life.ts'
import type { PlatformContact, PlatformUser } from '../contract/administration/platform-file.ts'

/** What the file wants an account's hash to be: undefined leaves it as it is, null takes it away. */
export type Hashes = ReadonlyMap<string, string | null | undefined>

export async function hashesFor(
  users: readonly PlatformUser[],
  accounts: readonly Account[],
): Promise<Hashes> {
  const present = new Map(accounts.map((account) => [account.username, account.passwordHash]))
  const wanted = users.map(async (user): Promise<[string, string | null | undefined]> => {
    const hash = present.get(user.username)
    if (typeof user.password !== 'string')
      return [user.username, user.password === null ? null : user.passwordHash]
    if (hash && (await verifyPassword(user.password, hash))) return [user.username, hash]
    return [user.username, await hashPassword(user.password)]
  })
  return new Map(await Promise.all(wanted))
}

/**
 * What partners sign in with, as hashes: nobody needs it back. One that fits the hash the database has keeps it. While
 * nodes of the version before are at work, which know no hashes here, it stays as it is; upkeep hashes it later.
 */
export async function hashAccess(
  db: Db,
  seal: Seal,
  contacts: readonly PlatformContact[],
  now: number,
): Promise<PlatformContact[]> {
  if (!contacts.some(({ access }) => isPlain(access?.password))) return [...contacts]
  if ((await olderAtWork(db, now)).length > 0) return [...contacts]
  const found = await findContacts(
    db,
    contacts.map(({ id }) => id),
  )
  const present = new Map(found.map((contact) => [contact.id, contact]))
  return Promise.all(
    contacts.map(async (contact) => {
      const { access } = contact
      if (!isPlain(access?.password)) return contact
      const kept = present.get(contact.id)
      const hash = kept && openProtocolSections(seal, kept).access?.password
      const fits = hash !== undefined && (await verifyPassword(access.password, hash))
      return {
        ...contact,
        access: { ...access, password: fits ? hash : await hashPassword(access.password) },
      }
    }),
  )
}

function isPlain(password: string | null | undefined): password is string {
  return typeof password === 'string' && !isPasswordHash(password)
}
