// Refusals are part of the audit trail. The same user and operation are noted once a minute, so that a broken program
// does not fill the trail.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { cleanWords, NodeError } from '../errors.ts'
import { actorOf } from './actor.ts'
import type { Context } from './context.ts'

const ONCE_MS = 60_000

export function addRefusalNotes(app: FastifyInstance, context: Context): void {
  const told = new LRUCache<string, true>({ max: 1000, ttl: ONCE_MS })
  app.addHook('onError', async (request, _reply, error) => {
    if (!(error instanceof NodeError) || error.code !== 'forbidden' || !request.account) return
    const operation = `${request.method} ${request.routeOptions.url ?? ''}`
    const key = `${request.account.username}\n${operation}`
    if (told.has(key)) return
    told.set(key, true)
    await note(context, request, operation, error.message).catch((thrown: unknown) =>
      request.log.error({ err: thrown }, 'a refusal could not be noted in the audit trail'),
    )
  })
}

async function note(
  context: Context,
  request: FastifyRequest,
  operation: string,
  why: string,
): Promise<void> {
  const { account } = request
  if (!account) return
  const { channelCode } = request.params as { channelCode?: string }
  await context.store.write((tx) =>
    context.audit.add(tx, actorOf({ user: account, request }), [
      {
        action: 'ACCESS_REFUSED',
        outcome: 'REFUSED',
        // As it came: nothing has looked at it yet.
        channelCode: channelCode && cleanWords(channelCode, 128),
        note: why,
        facts: { operation },
      },
    ]),
  )
}
