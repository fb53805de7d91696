// `esclusa token …`: tokens for systems, made on the node's machine with the node's own key, listed and revoked. A
// running node looks at each use whether the token still stands, so a revocation acts at once.

import { describeTokens } from '../../accounts/system-tokens.ts'
import { makeTokens } from '../../accounts/token.ts'
import { MOST_TOKEN_HOURS } from '../../contract/administration/tokens.ts'
import { NodeError } from '../../errors.ts'
import { findAccount } from '../../store/accounts.ts'
import { insertToken, revokeToken } from '../../store/tokens.ts'
import { remark, say, sayJson, sayTable, when } from '../print.ts'
import { withPlatform } from './with-platform.ts'
import type { OpenPlatform } from './with-platform.ts'

const LONG_HOURS = 30 * 24

export type NewToken = { user: string; hours: number; name?: string }

export async function createToken({ user, hours, name = `for ${user}` }: NewToken): Promise<void> {
  if (hours > MOST_TOKEN_HOURS)
    throw new NodeError(
      'bad_use',
      `--hours must be at most ${MOST_TOKEN_HOURS}, which is a year, not ${hours}`,
    )
  if (!/^[^\p{Cc}]{1,100}$/u.test(name))
    throw new NodeError('bad_use', '--name has 1 to 100 characters, none of them control characters')
  const made = await withPlatform(async ({ store, secrets, audit, actor }) => {
    const account = await findAccount(store.db, user)
    if (!account) throw new NodeError('not_found', `there is no user ${user}`)
    if (account.disabled) throw new NodeError('conflict', `user ${user} is disabled: a token would not work`)
    const now = Date.now()
    const token = makeTokens(secrets.jwt).makeForSystem(account, now, hours * 3600)
    const { id, expiresAt } = token
    await store.write(async (tx) => {
      await insertToken(tx, { id, accountId: account.id, name, createdAt: now, expiresAt })
      const facts = { id, name, expiresAt: new Date(expiresAt).toISOString() }
      const subject = { kind: 'user', name: user } as const
      await audit.add(tx, actor, [{ action: 'TOKEN_CREATED', subject, facts }])
    })
    return token
  })
  say(made.token)
  remark(`valid until ${new Date(made.expiresAt).toISOString()}, or until the password of ${user} changes`)
  remark(`to take it back: esclusa token revoke ${made.id}`)
  if (hours > LONG_HOURS)
    remark('warning: whoever finds a token of more than 30 days can use it for long; prefer a shorter one')
}

export async function showTokens(options: { user?: string; json?: boolean }): Promise<void> {
  const tokens = await withPlatform(async ({ store }) => {
    if (options.user !== undefined && !(await findAccount(store.db, options.user)))
      throw new NodeError('not_found', `there is no user ${options.user}`)
    return describe(store)
  })
  const wanted = tokens.filter(({ user }) => options.user === undefined || user === options.user)
  if (options.json) return sayJson(wanted)
  const rows = wanted.map((token) => ({
    ID: token.id,
    USER: token.user,
    NAME: token.name,
    STATE: token.state,
    CREATED: when(token.createdAt),
    EXPIRES: when(token.expiresAt),
    'LAST USED': when(token.lastUsedAt) ?? 'never',
  }))
  sayTable(rows, 'there is no token for a system')
}

/** By its id, or by a name that only one token has which is still valid. */
export async function revoke(which: string): Promise<void> {
  const revoked = await withPlatform(async (platform) => {
    const tokens = await describe(platform.store)
    const found = tokens.find(({ id }) => id === which) ?? onlyNamed(tokens, which)
    await platform.store.write(async (tx) => {
      if (!(await revokeToken(tx, found.id, Date.now())))
        throw new NodeError('conflict', `token ${found.id} was revoked already`)
      const subject = { kind: 'user', name: found.user } as const
      const facts = { id: found.id, name: found.name }
      await platform.audit.add(tx, platform.actor, [{ action: 'TOKEN_REVOKED', subject, facts }])
    })
    return found
  })
  say(`- token ${revoked.id} (${revoked.name}) of ${revoked.user}`)
}

type Described = Awaited<ReturnType<typeof describe>>[number]

function onlyNamed(tokens: readonly Described[], name: string): Described {
  const named = tokens.filter((token) => token.name === name && token.state === 'valid')
  const [found, ...more] = named
  if (!found) throw new NodeError('not_found', `there is no valid token ${name}: see esclusa token list`)
  if (more.length > 0)
    throw new NodeError(
      'conflict',
      `${named.length} tokens are named ${name}: give the id, see esclusa token list`,
    )
  return found
}

async function describe(store: OpenPlatform['store']) {
  const shown = (at: number) => new Date(at).toISOString()
  return (await describeTokens(store.db, Date.now())).map((token) => ({
    id: token.id,
    user: token.user,
    name: token.name,
    state: token.state.toLowerCase().replace('_', ' '),
    createdAt: shown(token.createdAt),
    expiresAt: shown(token.expiresAt),
    ...(token.lastUsedAt !== null && { lastUsedAt: shown(token.lastUsedAt) }),
    ...(token.revokedAt !== null && { revokedAt: shown(token.revokedAt) }),
  }))
}
