// Tokens for systems: they live longer than a login, so each has a name, shows when it was last used and can be taken back.
// What is kept names the token by its id; the token itself is nowhere.

import { hot } from './database/prepared-queries.ts'
import type { Db, Tx } from './database/store.ts'
import type { Tables } from './database/tables.ts'
import { accountsChanged } from './accounts.ts'

export type TokenRecord = {
  id: string
  accountId: string
  name: string
  createdAt: number
  expiresAt: number
  /** To the minute. */
  lastUsedAt: number | null
  revokedAt: number | null
}

type Row = Tables['api_token']

const byId = hot<{ id: string }, Row>((db, arg) =>
  db.selectFrom('api_token').selectAll().where('id', '=', arg('id')),
)

export async function findToken(db: Db, id: string): Promise<TokenRecord | undefined> {
  return (await byId(db, { id })).map(toToken)[0]
}

/** Newest first. */
export async function listTokens(db: Db): Promise<TokenRecord[]> {
  const rows = await db
    .selectFrom('api_token')
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
  return rows.map(toToken)
}

export async function insertToken(
  tx: Tx,
  token: Pick<TokenRecord, 'id' | 'accountId' | 'name' | 'createdAt' | 'expiresAt'>,
): Promise<void> {
  await tx
    .insertInto('api_token')
    .values({
      id: token.id,
      account_id: token.accountId,
      name: token.name,
      created_at: token.createdAt,
      expires_at: token.expiresAt,
      last_used_at: null,
      revoked_at: null,
    })
    .execute()
}

/** False: it was revoked already. */
export async function revokeToken(tx: Tx, id: string, now: number): Promise<boolean> {
  const done = await tx
    .updateTable('api_token')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  await accountsChanged(tx)
  return done.numUpdatedRows === 1n
}

/** A token without its row is not valid: those that ended before that time need none. */
export async function removeEndedTokens(tx: Tx, before: number): Promise<void> {
  await tx.deleteFrom('api_token').where('expires_at', '<', before).execute()
}

export async function noteTokenUse(tx: Tx, id: string, now: number): Promise<void> {
  await tx.updateTable('api_token').set({ last_used_at: now }).where('id', '=', id).execute()
}

function toToken(row: Row): TokenRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  }
}
