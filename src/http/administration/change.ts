// How an operation of administration changes the platform: through the platform file's own rules and transaction, only
// if nobody has changed the thing since the caller read it (If-Match), and told in the audit trail.

import type { FastifyRequest } from 'fastify'
import type { Changed } from '../../contract/administration/changed.ts'
import { NodeError } from '../../errors.ts'
import type { Edit } from '../../platform/edit.ts'
import type { Present } from '../../platform/plan.ts'
import type { Account } from '../../store/accounts.ts'
import { actorOf } from '../actor.ts'
import type { Context } from '../context.ts'
import { requireMatch, tagOf } from '../revision.ts'
import { requireAllowed, requireNoPasswords } from './change-rules.ts'

export type ChangeCall = {
  user: Account
  request: FastifyRequest
  input: { dryRun?: 'true' | 'false' }
}

export async function changePlatform(context: Context, call: ChangeCall, edit: Edit): Promise<Changed> {
  // Loaded at first need: the rules of the platform file are as much as the rest of the server.
  const { editPlatform } = await import('../../platform/edit.ts')
  const { store, seal, roots, audit } = context
  const dryRun = call.input.dryRun === 'true'
  const now = context.now()
  const changed = await editPlatform(
    { store, seal, roots, trail: audit, actor: actorOf(call), now },
    {
      ...edit,
      dryRun,
      forbidFirst: (present) => {
        edit.forbidFirst?.(present)
        requireNoPasswords(call.user, present.accounts, edit.put?.users ?? [])
      },
      forbid: (present, plan) => {
        edit.forbid?.(present, plan)
        requireAllowed({ user: call.user, fileRoots: roots.fileRoots }, present, plan)
      },
    },
  )
  if (!dryRun && changed.lines.length > 0) context.wake({ kind: 'due' })
  return changed
}

/** What is there already is not made again. */
export function requireNew(found: unknown, what: string): void {
  if (found !== undefined) throw new NodeError('conflict', `${what} exists already`)
}

export function requireThere<T>(found: T | undefined, what: string): T {
  if (found === undefined) throw new NodeError('not_found', `${what} does not exist`)
  return found
}

/** The thing as it is in the transaction, its revision being the one that the caller has read. */
export function current<T>(
  { request }: ChangeCall,
  present: Present,
  find: (present: Present) => T | undefined,
  what: string,
): T {
  const found = requireThere(find(present), what)
  requireMatch(request, tagOf(found))
  return found
}
