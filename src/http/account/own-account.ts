// What everybody may do with their own account.

import { hashPassword, verifyPassword } from '../../accounts/password.ts'
import { weakPassword } from '../../domain/user.ts'
import { showTime } from '../../domain/time.ts'
import { NodeError } from '../../errors.ts'
import { HIDDEN_IN_USERS, shownAccount } from '../../platform/audit-notes.ts'
import { endLogins, findAccount, putAccount } from '../../store/accounts.ts'
import type { Account } from '../../store/accounts.ts'
import type { Tx } from '../../store/database/store.ts'
import { listSessions, removeSessions } from '../../store/sessions.ts'
import { actorOf } from '../actor.ts'
import type { Caller } from '../actor.ts'
import { clientAddress } from '../client-address.ts'
import type { Context } from '../context.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'
import { clearSessionCookie } from './session-cookie.ts'
import { giveSession, showSession, startIn } from './sessions.ts'

const listOwnSessions: PlatformHandler<'listOwnSessions'> = async (context, { user, request }) => {
  const now = context.now()
  const show = (at: number) => showTime(at, context.zone)
  const sessions = (await listSessions(context.store.db, user.username)).filter(
    ({ accountId, credentialVersion, expiresAt }) =>
      accountId === user.id && credentialVersion === user.credentialVersion && expiresAt > now,
  )
  return {
    sessions: sessions.map(({ id, createdAt, seenAt, expiresAt, address, agent }) => ({
      id,
      current: id === request.credential?.id,
      createdAt: show(createdAt),
      seenAt: show(seenAt),
      expiresAt: show(expiresAt),
      ...(address !== null && { from: address }),
      ...(agent !== null && { agent }),
    })),
  }
}

const endOwnSession: PlatformHandler<'endOwnSession'> = async (context, { input, user, request }) => {
  const ended = await context.store.write(async (tx) => {
    const own = (await listSessions(tx, user.username)).filter(({ id }) => id === input.sessionId)
    if (own.length === 0) throw new NodeError('not_found', 'you have no such session')
    await noteEnd(tx, context, { user, request }, 'one session')
    return removeSessions(tx, [input.sessionId])
  })
  return { ended }
}

const endOwnSessions: PlatformHandler<'endOwnSessions'> = async (context, { user, request, reply }) => {
  const ended = await context.store.write(async (tx) => {
    const all = await listSessions(tx, user.username)
    await noteEnd(tx, context, { user, request }, 'every session and login')
    await endLogins(tx, user.username)
    return removeSessions(
      tx,
      all.map(({ id }) => id),
    )
  })
  clearSessionCookie(request, reply)
  return { ended }
}

async function noteEnd(tx: Tx, context: Context, caller: Caller, note: string): Promise<void> {
  const subject = { kind: 'user', name: caller.user.username } as const
  await context.audit.add(tx, actorOf(caller), [{ action: 'SESSIONS_ENDED', subject, note }])
}

const changeOwnPassword: PlatformHandler<'changeOwnPassword'> = async (context, call) => {
  const { body, user, request, reply } = call
  const who = { account: `user ${user.username}`, address: clientAddress(request) }
  const right = await context.limiter.attempt(who, context.now, async () =>
    (await verifyPassword(body.current, user.passwordHash)) ? true : undefined,
  )
  if (!right) {
    const subject = { kind: 'user', name: user.username } as const
    await context.store.write((tx) =>
      context.audit.add(tx, actorOf(call), [{ action: 'PASSWORD_CHANGED', outcome: 'REFUSED', subject }]),
    )
    throw new NodeError('bad_request', '/current is not your password')
  }
  const weak = weakPassword(body.password, user)
  if (weak) throw new NodeError('bad_request', `/password ${weak}`)
  const passwordHash = await hashPassword(body.password)
  const inConsole = request.credential?.via === 'SESSION'
  const done = await context.store.write(async (tx) => {
    const after = await changeOwn(tx, context, call, 'PASSWORD_CHANGED', (before) => {
      // Somebody else may have given another password meanwhile.
      if (before.credentialVersion !== user.credentialVersion)
        throw new NodeError('conflict', 'the password was changed meanwhile: sign in again')
      return { passwordHash, credentialVersion: before.credentialVersion + 1 }
    })
    return { after, ...(inConsole && { opened: await startIn(tx, context, after, request) }) }
  })
  if (done.opened) return giveSession(context, done.after, { ...done.opened, request, reply })
  return showSession(context, done.after, context.now())
}

const changeOwnLanguage: PlatformHandler<'changeOwnLanguage'> = async (context, call) => {
  const { body, request } = call
  const after = await context.store.write((tx) => changeOwn(tx, context, call, 'USER_CHANGED', () => body))
  return showSession(context, after, request.credential?.expiresAt ?? context.now())
}

async function changeOwn(
  tx: Tx,
  { audit }: Context,
  caller: Caller,
  action: 'PASSWORD_CHANGED' | 'USER_CHANGED',
  how: (before: Account) => Partial<Account>,
): Promise<Account> {
  const before = await findAccount(tx, caller.user.username)
  if (!before) throw new NodeError('unauthorized', 'the user is no longer there')
  const after = { ...before, ...how(before) }
  await putAccount(tx, after)
  const changes = audit.changes(shownAccount(before), shownAccount(after), HIDDEN_IN_USERS)
  if (changes.length > 0)
    await audit.add(tx, actorOf(caller), [
      { action, subject: { kind: 'user', name: before.username }, changes },
    ])
  return after
}

export const ownAccountHandlers = {
  listOwnSessions,
  endOwnSession,
  endOwnSessions,
  changeOwnPassword,
  changeOwnLanguage,
} satisfies Partial<PlatformHandlers>
