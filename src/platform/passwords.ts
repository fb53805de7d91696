// Hashes the passwords of a file's users before the transaction: Argon2 is slow, and the database must not wait for it.
// If a password fits the hash that the account has, the hash stays. So applying twice changes nothing.

import { hashPassword, verifyPassword } from '../accounts/password.ts'
import type { Account } from '../store/accounts.ts'
import type { PlatformUser } from '../contract/administration/platform-file.ts'

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
