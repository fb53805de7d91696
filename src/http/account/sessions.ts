// Signing in to the console and out of it, and who is signed in.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { sessionHash, SESSION_SECONDS, startSession } from '../../accounts/sessions.ts'
import type { Session } from '../../contract/account/session.ts'
import { showTime } from '../../domain/time.ts'
import type { Account } from '../../store/accounts.ts'
import type { Tx } from '../../store/database/store.ts'
import { findSession, removeSessions } from '../../store/sessions.ts'
import type { SessionRecord } from '../../store/sessions.ts'
import { actorOf } from '../actor.ts'
import { clientAddress } from '../client-address.ts'
import type { Context } from '../context.ts'
import { passwordLogin } from '../integration/login.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'
import { clearSessionCookie, replacedSecret, setSessionCookie } from './session-cookie.ts'

const session: PlatformHandler<'session'> = (context, { user, request }) =>
  Promise.resolve(showSession(context, user, request.credential?.expiresAt ?? context.now()))

const openSession: PlatformHandler<'openSession'> = async (context, { body, request, reply }) => {
  const account = await passwordLogin(context, body, request)
  const { secret, session } = await context.store.write((tx) => startIn(tx, context, account, request))
  return giveSession(context, account, { secret, session, request, reply })
}

const endSession: PlatformHandler<'endSession'> = async (context, { user, request, reply }) => {
  const { via, id } = request.credential ?? {}
  if (via !== 'SESSION' || id === undefined) return { ended: 0 }
  const ended = await context.store.write(async (tx) => {
    await context.audit.add(tx, actorOf({ user, request }), [
      { action: 'LOGOUT', subject: { kind: 'user', name: user.username } },
    ])
    return removeSessions(tx, [id])
  })
  clearSessionCookie(request, reply)
  return { ended }
}

export const sessionHandlers = { session, openSession, endSession } satisfies Partial<PlatformHandlers>

export async function startIn(tx: Tx, context: Context, account: Account, request: FastifyRequest) {
  await endReplaced(tx, context, account, request)
  const from = { address: clientAddress(request), agent: request.headers['user-agent'] }
  return startSession(tx, account, from, context.now())
}

/** Nobody could use it any more, nor end it by signing out: the browser has the new cookie in its place. */
async function endReplaced(tx: Tx, context: Context, account: Account, request: FastifyRequest) {
  const secret = replacedSecret(request)
  const replaced = secret && (await findSession(tx, sessionHash(secret)))
  if (!replaced) return
  await removeSessions(tx, [replaced.id])
  const { username, id } = replaced
  // The same user goes on.
  if (username === account.username) return
  const actor = { who: username, via: 'SESSION', tokenId: id, address: clientAddress(request) } as const
  await context.audit.add(tx, actor, [
    {
      action: 'LOGOUT',
      subject: { kind: 'user', name: username },
      note: `${account.username} signed in in the same browser`,
    },
  ])
}

type Given = { secret: string; session: SessionRecord; request: FastifyRequest; reply: FastifyReply }

/** After the commit: the cookie, and who is signed in by it. */
export function giveSession(
  context: Context,
  account: Account,
  { secret, session, request, reply }: Given,
): Session {
  setSessionCookie(request, reply, secret, SESSION_SECONDS)
  return showSession(context, account, session.expiresAt)
}

export function showSession(context: Context, user: Account, expiresAt: number): Session {
  const { username, name, lastName, email, role, language, auths } = user
  return {
    username,
    ...(name !== undefined && { name }),
    ...(lastName !== undefined && { lastName }),
    email,
    role,
    language,
    auths,
    expiresAt: showTime(expiresAt, context.zone),
    now: showTime(context.now(), context.zone),
    timeZone: context.zone.name,
  }
}
