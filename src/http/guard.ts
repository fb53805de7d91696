// Who is calling, and whether they may: the first two checks of every operation, before the body is read. So a caller
// without the role cannot find out which channels exist.

import type { FastifyRequest } from 'fastify'
import type { Operation } from '../contract/operations.ts'
import { hasAuth, mayReach } from '../domain/user.ts'
import { NodeError } from '../errors.ts'
import { CONSOLE_HEADER, SHOWN_USER_HEADER } from '../contract/account/session.ts'
import { isGood, sessionHash } from '../accounts/sessions.ts'
import { TOKEN_SECONDS } from '../accounts/token.ts'
import type { Claims } from '../accounts/token.ts'
import { findAccount, legacyId } from '../store/accounts.ts'
import type { Account } from '../store/accounts.ts'
import { findChannel } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import { findSession } from '../store/sessions.ts'
import { findToken } from '../store/tokens.ts'
import { sessionSecrets } from './account/session-cookie.ts'
import type { Context } from './context.ts'
import { parseCode } from '../domain/channel.ts'

type Asking = Pick<FastifyRequest, 'headers' | 'method' | 'credential'>

/**
 * 401 for the token or the console's session. The account is read each time: disabling it or changing its password ends
 * older ones at once.
 */
export async function authenticate(context: Context, request: Asking): Promise<Account> {
  const header = request.headers.authorization
  if (header !== undefined) return byToken(context, request, header)
  const secrets = sessionSecrets(request.headers.cookie)
  if (secrets.length > 0) return bySession(context, request, secrets)
  throw new NodeError('unauthorized', 'a bearer token is needed: log in first')
}

async function byToken(context: Context, request: Asking, header: string): Promise<Account> {
  const match = /^bearer +([^\s]+) *$/i.exec(header)
  if (!match?.[1]) throw new NodeError('unauthorized', 'the Authorization header must be: Bearer <token>')
  const claims = context.tokens.read(match[1], context.now())
  const account = await findAccount(context.store.db, claims.sub)
  if (!account || account.disabled || account.credentialVersion !== claims.ver || !belongsTo(claims, account))
    throw new NodeError('unauthorized', 'the token is no longer valid: log in again')
  if (claims.sys) await requireKept(context, claims.jti ?? '', account)
  else if ((claims.log ?? 0) !== account.loginVersion)
    throw new NodeError('unauthorized', 'the token is no longer valid: log in again')
  request.credential = { via: 'TOKEN', id: claims.jti, expiresAt: claims.exp * 1000 }
  return account
}

/**
 * A browser sends the cookie by itself, so a change needs a header too, which no page of another origin can make it send.
 */
async function bySession(context: Context, request: Asking, secrets: readonly string[]): Promise<Account> {
  const { method, headers } = request
  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead && headers[CONSOLE_HEADER] === undefined)
    throw new NodeError(
      'forbidden',
      `a change in a session of the console needs the header ${CONSOLE_HEADER}`,
    )
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw new NodeError('forbidden', 'the session of the console is for the console’s own pages alone')
  const shown = headers[SHOWN_USER_HEADER]
  let isOther = false
  for (const secret of secrets) {
    const session = await findSession(context.store.db, sessionHash(secret))
    const account = session && (await findAccount(context.store.db, session.username))
    if (!account || !isGood(session, account, context.now())) continue
    if (shown !== undefined && shown !== encodeURIComponent(account.username)) {
      isOther = true
      continue
    }
    request.credential = { via: 'SESSION', id: session.id, expiresAt: session.expiresAt }
    context.sessionSeen(session.id, context.now())
    return account
  }
  throw new NodeError(
    'unauthorized',
    isOther
      ? 'the session is another user’s, who has signed in in the same browser'
      : 'the session has ended: sign in again',
  )
}

/** A login of the version before carries no id: it holds for an account that is as old, and ends within two hours. */
function belongsTo({ uid, sub, iat, exp }: Claims, { id }: Account): boolean {
  if (uid !== undefined) return uid === id
  return id === legacyId(sub) && iat !== undefined && exp - iat <= TOKEN_SECONDS
}

/** A token for a system is valid as long as its row says so. */
async function requireKept(context: Context, id: string, account: Account): Promise<void> {
  const token = await findToken(context.store.db, id)
  if (token?.accountId !== account.id || token.revokedAt !== null)
    throw new NodeError('unauthorized', 'the token was revoked: make another with esclusa token create')
  context.tokenUsed(id, context.now())
}

/** 403 for the role or the flag. */
export function authorise(operation: Operation, user: Account): void {
  if (operation.roles === 'public') return
  const inPart = operation.inPart?.roles.includes(user.role) ?? false
  if (!operation.roles.includes(user.role) && !inPart)
    throw new NodeError('forbidden', `role ${user.role} may not do this`)
  const auth = inPart ? operation.inPart?.auth : operation.auth
  if (auth && !hasAuth(user, auth))
    throw new NodeError('forbidden', `this needs the permission ${auth}, which is off for ${user.username}`)
}

/** 404 for a channel that does not exist, then 403 for one that is not open to this user. */
export async function reachChannel(context: Context, user: Account, code: string): Promise<ChannelRecord> {
  const channel = parseCode(code) && (await findChannel(context.store.db, code))
  if (!channel) throw new NodeError('not_found', `channel ${code} does not exist`)
  checkReach(user, channel)
  return channel
}

/** For what names a channel that the caller did not: undefined where that does not exist or is closed to this user. */
export async function openChannel(
  context: Context,
  user: Account,
  code: string,
): Promise<ChannelRecord | undefined> {
  const channel = await findChannel(context.store.db, code)
  return channel && mayReach(user, channel.config.users) ? channel : undefined
}

export function checkReach(user: Account, channel: ChannelRecord): void {
  if (!mayReach(user, channel.config.users))
    throw new NodeError('forbidden', `channel ${channel.code} is not open to ${user.username}`)
}
