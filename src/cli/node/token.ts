// `esclusa token create`: a token for a system, made on the node's machine with the node's own key.

import { makeTokens } from '../../accounts/token.ts'
import { NodeError } from '../../errors.ts'
import { findAccount } from '../../store/accounts.ts'
import { remark, say } from '../print.ts'
import { withPlatform } from './with-platform.ts'

export async function createToken(options: { user: string; hours: number }): Promise<void> {
  const { token, expiresAt } = await withPlatform(async ({ store, secrets, audit, actor }) => {
    const account = await findAccount(store.db, options.user)
    if (!account) throw new NodeError('not_found', `there is no user ${options.user}`)
    if (account.disabled)
      throw new NodeError('conflict', `user ${options.user} is disabled: a token would not work`)
    const made = makeTokens(secrets.jwt).make(account, Date.now(), options.hours * 3600)
    const note = {
      action: 'TOKEN_CREATED',
      subject: { kind: 'user', name: options.user },
      facts: { expiresAt: new Date(made.expiresAt).toISOString() },
    } as const
    await store.write((tx) => audit.add(tx, actor, [note]))
    return made
  })
  say(token)
  remark(`valid until ${new Date(expiresAt).toISOString()}, or until the password of ${options.user} changes`)
}
