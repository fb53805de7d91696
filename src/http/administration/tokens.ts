// Tokens for systems made, listed and taken back. Nobody makes one that may more than they do: a ROLE_ADMIN makes none
// for a ROLE_GLOBALADMIN, and takes none of theirs back.

import { describeTokens } from '../../accounts/system-tokens.ts'
import type { DescribedToken } from '../../accounts/system-tokens.ts'
import type { SystemToken } from '../../contract/administration/tokens.ts'
import { makePage } from '../../contract/page.ts'
import { showTime } from '../../domain/time.ts'
import { NodeError } from '../../errors.ts'
import { findAccount } from '../../store/accounts.ts'
import { insertToken, revokeToken as markRevoked } from '../../store/tokens.ts'
import { actorOf } from '../actor.ts'
import type { Context } from '../context.ts'
import { askedPage } from '../integration/paging.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'
import { wordsOf } from '../words.ts'
import { requireThere } from './change.ts'
import { requireGlobal } from './change-rules.ts'

const listTokens: PlatformHandler<'listTokens'> = async (context, { input }) => {
  const words = wordsOf(input.search ?? '')
  const asked = askedPage(context, input)
  const all = (await describeTokens(context.store.db, context.now())).filter(({ id, user, name }) => {
    const text = [id, user, name].join('\n').toLowerCase()
    return words.every((word) => text.includes(word))
  })
  const some = all.slice(asked.offset, asked.offset + asked.size)
  return makePage(
    some.map((token) => toWire(context, token)),
    all.length,
    asked,
  )
}

const createToken: PlatformHandler<'createToken'> = async (context, { body, user, request }) => {
  const { store, audit } = context
  const now = context.now()
  const account = requireThere(await findAccount(store.db, body.user), `user ${body.user}`)
  requireGlobal(user, account.role)
  if (account.disabled)
    throw new NodeError('conflict', `user ${body.user} is disabled: a token would not work`)
  const name = body.name ?? `for ${body.user}`
  const { token, id, expiresAt } = context.tokens.makeForSystem(account, now, body.hours * 3600)
  await store.write(async (tx) => {
    await insertToken(tx, { id, accountId: account.id, name, createdAt: now, expiresAt })
    await audit.add(tx, actorOf({ user, request }), [
      {
        action: 'TOKEN_CREATED',
        subject: { kind: 'user', name: body.user },
        facts: { id, name, expiresAt: new Date(expiresAt).toISOString() },
      },
    ])
  })
  return { ...(await find(context, id)), token }
}

const revokeToken: PlatformHandler<'revokeToken'> = async (context, { input, user, request }) => {
  const { store, audit } = context
  const all = await describeTokens(store.db, context.now())
  const found = requireThere(
    all.find(({ id }) => id === input.tokenId),
    `token ${input.tokenId}`,
  )
  if (found.role !== undefined) requireGlobal(user, found.role)
  await store.write(async (tx) => {
    if (!(await markRevoked(tx, found.id, context.now())))
      throw new NodeError('conflict', `token ${found.id} was revoked already`)
    await audit.add(tx, actorOf({ user, request }), [
      {
        action: 'TOKEN_REVOKED',
        subject: { kind: 'user', name: found.user },
        facts: { id: found.id, name: found.name },
      },
    ])
  })
  return find(context, found.id)
}

export const tokenHandlers = { listTokens, createToken, revokeToken } satisfies Partial<PlatformHandlers>

async function find(context: Context, tokenId: string): Promise<SystemToken> {
  const all = await describeTokens(context.store.db, context.now())
  return toWire(
    context,
    requireThere(
      all.find(({ id }) => id === tokenId),
      `token ${tokenId}`,
    ),
  )
}

function toWire({ zone }: Context, token: DescribedToken): SystemToken {
  const { id, user, name, state, createdAt, expiresAt, lastUsedAt, revokedAt } = token
  return {
    id,
    user,
    name,
    state,
    createdAt: showTime(createdAt, zone),
    expiresAt: showTime(expiresAt, zone),
    ...(lastUsedAt !== null && { lastUsedAt: showTime(lastUsedAt, zone) }),
    ...(revokedAt !== null && { revokedAt: showTime(revokedAt, zone) }),
  }
}
