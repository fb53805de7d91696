// Sessions of the console. The browser holds a random secret in a cookie; the database holds its hash. A session ends by
// signing out, after twelve hours, and with whatever ends the account's tokens.

import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Account } from '../store/accounts.ts'
import type { Tx } from '../store/database/store.ts'
import { insertSession, listSessions, removeExpiredSessions, removeSessions } from '../store/sessions.ts'
import type { SessionRecord } from '../store/sessions.ts'

/** A long shift. */
export const SESSION_SECONDS = 12 * 3600
/** Of one user: the oldest gives way. */
const MOST_SESSIONS = 50
const LONGEST_AGENT = 255

export type From = { address: string; agent: string | undefined }

/** The secret is for the browser's cookie, and nowhere else. */
export async function startSession(
  tx: Tx,
  account: Account,
  { address, agent }: From,
  now: number,
): Promise<{ secret: string; session: SessionRecord }> {
  await removeExpiredSessions(tx, now)
  const others = await listSessions(tx, account.username)
  await removeSessions(
    tx,
    others.slice(MOST_SESSIONS - 1).map(({ id }) => id),
  )
  const secret = randomBytes(32).toString('base64url')
  const session: SessionRecord = {
    id: randomUUID(),
    accountId: account.id,
    username: account.username,
    credentialVersion: account.credentialVersion,
    createdAt: now,
    seenAt: now,
    expiresAt: now + SESSION_SECONDS * 1000,
    address,
    agent: agent?.slice(0, LONGEST_AGENT) ?? null,
  }
  await insertSession(tx, sessionHash(secret), session)
  return { secret, session }
}

export function sessionHash(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

/** Whether it still holds for this account. */
export function isGood(session: SessionRecord, account: Account, now: number): boolean {
  return (
    session.expiresAt > now &&
    !account.disabled &&
    session.accountId === account.id &&
    session.credentialVersion === account.credentialVersion
  )
}
