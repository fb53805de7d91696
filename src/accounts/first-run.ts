// The first run of a platform. The first start makes the administrator `admin` with a random password, and a one-time code
// with which a browser may make another in its place. The code is over as soon as anybody has signed in or it was used.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { authsOf } from '../domain/user.ts'
import type { Account } from '../store/accounts.ts'
import { firstRunHash, hasAccounts, listAccounts, openFirstRun, putAccount } from '../store/accounts.ts'
import type { Db, Store } from '../store/database/store.ts'
import { hashPassword } from './password.ts'

const FIRST = 'admin'
/** No letter or digit that looks like another; 32 of them, so that each octet counts the same. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const CODE_LETTERS = 16

export type FirstAdministrator = { username: string; password: string; code: string }

/** Only on a platform without users. If several nodes start together, one of them makes it. */
export async function makeFirstAdministrator(store: Store): Promise<FirstAdministrator | undefined> {
  if (await hasAccounts(store.db)) return undefined
  const password = randomBytes(15).toString('base64url')
  const passwordHash = await hashPassword(password)
  const code = newCode()
  const made = await store.write(async (tx) => {
    if (await hasAccounts(tx)) return false
    await openFirstRun(tx, codeHash(code))
    await putAccount(tx, {
      username: FIRST,
      email: 'admin@localhost',
      language: 'en',
      role: 'ROLE_GLOBALADMIN',
      auths: authsOf('ROLE_GLOBALADMIN'),
      disabled: false,
      passwordHash,
      credentialVersion: 1,
    })
    return true
  })
  return made ? { username: FIRST, password, code } : undefined
}

/** The account that the first start made, as long as nobody has changed its password. */
export function isUntouched({ username, credentialVersion }: Account): boolean {
  return username === FIRST && credentialVersion === 1
}

/** The hash of the code while the first run is open: nobody is there but the untouched administrator. */
export async function openCode(db: Db): Promise<string | undefined> {
  const hash = await firstRunHash(db)
  if (hash === undefined) return undefined
  const accounts = await listAccounts(db)
  const [only] = accounts
  return accounts.length === 1 && only && isUntouched(only) ? hash : undefined
}

export function isCode(given: string, hash: string): boolean {
  return timingSafeEqual(Buffer.from(codeHash(given)), Buffer.from(hash))
}

function newCode(): string {
  const letters = Array.from(randomBytes(CODE_LETTERS), (octet) => LETTERS[octet % LETTERS.length])
  return letters.join('').replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** People may leave out the hyphens and write small letters. */
function codeHash(code: string): string {
  const plain = code.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
  return createHash('sha256').update(plain).digest('base64url')
}
