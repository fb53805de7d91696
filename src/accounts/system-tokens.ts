// Tokens for systems with what is known of them.

import type { TokenState } from '../contract/administration/tokens.ts'
import { listAccounts } from '../store/accounts.ts'
import type { Account } from '../store/accounts.ts'
import type { Db } from '../store/database/store.ts'
import { listTokens } from '../store/tokens.ts'
import type { TokenRecord } from '../store/tokens.ts'

export type DescribedToken = TokenRecord & {
  user: string
  role: Account['role'] | undefined
  state: TokenState
}

/** Newest first. */
export async function describeTokens(db: Db, now: number): Promise<DescribedToken[]> {
  const accounts = new Map((await listAccounts(db)).map((account) => [account.id, account]))
  return (await listTokens(db)).map((token) => {
    const account = accounts.get(token.accountId)
    return {
      ...token,
      user: account?.username ?? '',
      role: account?.role,
      state: stateOf(token, account, now),
    }
  })
}

function stateOf(token: TokenRecord, account: Account | undefined, now: number): TokenState {
  if (token.revokedAt !== null) return 'REVOKED'
  if (token.expiresAt <= now) return 'EXPIRED'
  return account && !account.disabled ? 'VALID' : 'NO_USER'
}
