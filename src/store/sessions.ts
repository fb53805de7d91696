// Sessions of the console: one per sign-in in a browser. What the browser keeps is known by its hash alone.

import { hot } from './database/prepared-queries.ts'
import type { Db, Tx } from './database/store.ts'
import type { ConsoleSessionRow } from './database/tables.ts'
import { accountsChanged } from './accounts.ts'

export type SessionRecord = {
  id: string
  accountId: string | null
  username: string
  credentialVersion: number
  createdAt: number
  /** To the minute. */
  seenAt: number
  expiresAt: number
  address: string | null
  /** What the browser calls itself. */
  agent: string | null
}

const byHash = hot<{ hash: string }, ConsoleSessionRow>((db, arg) =>
  db.selectFrom('console_session').selectAll().where('secret_hash', '=', arg('hash')),
)

export async function findSession(db: Db, secretHash: string): Promise<SessionRecord | undefined> {
  return (await byHash(db, { hash: secretHash })).map(toSession)[0]
}

/** Newest first. */
export async function listSessions(db: Db, username: string): Promise<SessionRecord[]> {
  const rows = await db
    .selectFrom('console_session')
    .selectAll()
    .where('username', '=', username)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
  return rows.map(toSession)
}

export async function insertSession(tx: Tx, secretHash: string, session: SessionRecord): Promise<void> {
  await tx
    .insertInto('console_session')
    .values({
      id: session.id,
      secret_hash: secretHash,
      username: session.username,
      credential_version: session.credentialVersion,
      created_at: session.createdAt,
      seen_at: session.seenAt,
      expires_at: session.expiresAt,
      address: session.address,
      agent: session.agent,
      account_id: session.accountId,
    })
    .execute()
}

/** How many there were. Streams of events that they opened end too. */
export async function removeSessions(tx: Tx, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0
  const done = await tx.deleteFrom('console_session').where('id', 'in', ids).executeTakeFirst()
  await accountsChanged(tx)
  return Number(done.numDeletedRows)
}

export async function removeExpiredSessions(tx: Tx, now: number): Promise<void> {
  await tx.deleteFrom('console_session').where('expires_at', '<=', now).execute()
}

export async function noteSessionSeen(tx: Tx, id: string, now: number): Promise<void> {
  await tx.updateTable('console_session').set({ seen_at: now }).where('id', '=', id).execute()
}

function toSession(row: ConsoleSessionRow): SessionRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    username: row.username,
    credentialVersion: row.credential_version,
    createdAt: row.created_at,
    seenAt: row.seen_at,
    expiresAt: row.expires_at,
    address: row.address,
    agent: row.agent,
  }
}
