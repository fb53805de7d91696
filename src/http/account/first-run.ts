// The first administrator, made in the browser by whoever has the one-time code of the first start.

import { isCode, openCode } from '../../accounts/first-run.ts'
import { hashPassword } from '../../accounts/password.ts'
import { authsOf, weakPassword } from '../../domain/user.ts'
import { NodeError } from '../../errors.ts'
import { removeFirstSecrets } from '../../files/first-secrets.ts'
import { HIDDEN_IN_USERS, shownAccount } from '../../platform/audit-notes.ts'
import { closeFirstRun, findAccount, listAccounts, putAccount, removeAccount } from '../../store/accounts.ts'
import { clientAddress } from '../client-address.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'
import { giveSession, startIn } from './sessions.ts'

const firstRun: PlatformHandler<'firstRun'> = async ({ store }) => ({
  open: (await openCode(store.db)) !== undefined,
})

const makeFirstAdministrator: PlatformHandler<'makeFirstAdministrator'> = async (context, call) => {
  const { body, request, reply } = call
  const { store, audit } = context
  const { code, username, email, password, language = 'en' } = body
  const hash = await openCode(store.db)
  if (hash === undefined) throw over()
  const who = { account: 'first run', address: clientAddress(request) }
  const right = await context.limiter.attempt(who, context.now, () =>
    Promise.resolve(isCode(code, hash) ? true : undefined),
  )
  if (!right)
    throw new NodeError('unauthorized', 'the code is not the one that the node gave when it started')
  const weak = weakPassword(password, { username, email })
  if (weak) throw new NodeError('bad_request', `/password ${weak}`)
  const passwordHash = await hashPassword(password)
  const done = await store.write(async (tx) => {
    if ((await openCode(tx)) !== hash) throw over()
    await closeFirstRun(tx)
    for (const before of await listAccounts(tx)) await removeAccount(tx, before.username)
    const role = 'ROLE_GLOBALADMIN'
    const rights = { role, auths: authsOf(role), disabled: false } as const
    // One more than the account that was made at the start, so that this one never passes for it.
    await putAccount(tx, { username, email, language, ...rights, passwordHash, credentialVersion: 2 })
    const account = await findAccount(tx, username)
    if (!account) throw over()
    const actor = { who: username, via: 'PASSWORD', address: who.address } as const
    const subject = { kind: 'user', name: username } as const
    const changes = audit.changes(undefined, shownAccount(account), HIDDEN_IN_USERS)
    await audit.add(tx, actor, [
      {
        action: 'USER_CREATED',
        subject,
        changes,
        note: 'in place of the first administrator, by the one-time code',
      },
      { action: 'LOGIN', subject },
    ])
    return { account, opened: await startIn(tx, context, account, request) }
  })
  // What they say no longer counts.
  try {
    removeFirstSecrets(context.dataDir)
  } catch {
    // They lie there for nothing.
  }
  return giveSession(context, done.account, { ...done.opened, request, reply })
}

function over(): NodeError {
  return new NodeError('conflict', 'the platform has an administrator: sign in')
}

export const firstRunHandlers = { firstRun, makeFirstAdministrator } satisfies Partial<PlatformHandlers>
