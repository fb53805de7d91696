// The first run of a platform. The first start makes the administrator `admin` with a random password, and a one-time code
// with which a browser may make another in its place. The code is over as soon as anybody has signed in or it was used.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { authsOf } from '../domain/user.ts'
import type { Account } from '../store/accounts.ts'
import {
  accountsChanged,
  firstRunHash,
  hasAccounts,
  listAccounts,
  openFirstRun,
  putAccount,
} from '../store/accounts.ts'
import type { Db, Store, Tx } from '../store/database/store.ts'
import { hashPassword } from './password.ts'

const FIRST = 'admin'
/** No letter or digit that looks like another; 32 of them, so that each octet counts the same. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const CODE_LETTERS = 16

export type FirstSecrets = { password: string; code: string }
export type FirstAdministrator = FirstSecrets & { username: string }

type Making = {
  /** A place outside the database where the secrets stay until somebody has been shown them. */
  kept: { write(secrets: FirstSecrets): void; read(): FirstSecrets | undefined }
  /** In the transaction that makes the account. */
  note: (tx: Tx) => Promise<unknown>
}

/**
 * Only on a platform without users. If several nodes start together, one of them makes it.
 *
 * The secrets are on the disk before the account counts, and only then is the account committed. A start that fails or
 * is killed after that has not lost them: the next one finds them kept and shows them. If it is killed before, they
 * belong to no account, and the next start makes others in their place.
 */
export async function makeFirstAdministrator(
  store: Store,
  { kept, note }: Making,
): Promise<FirstAdministrator | undefined> {
  if (await hasAccounts(store.db)) return notYetShown(store.db, kept)
  const password = randomBytes(15).toString('base64url')
  const passwordHash = await hashPassword(password)
  const code = newCode()
  const made = await store.write(async (tx) => {
    // First, because it locks: another node that is about to make the account waits here, and then finds it.
    await accountsChanged(tx)
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
    await note(tx)
    kept.write({ password, code })
    return true
  })
  return made ? { username: FIRST, password, code } : undefined
}

/** Made by an earlier start, kept on this node, and nobody has signed in since. */
async function notYetShown(db: Db, kept: Making['kept']): Promise<FirstAdministrator | undefined> {
  const secrets = kept.read()
  if (!secrets) return undefined
  const hash = await openCode(db)
  return hash !== undefined && isCode(secrets.code, hash) ? { username: FIRST, ...secrets } : undefined
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
