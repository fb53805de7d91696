// Live events at /connect-back/events, as server-sent events: states and progress of transfers on the channels that the
// caller may reach. The stream ends when the token ends, or when the user loses access.

import type { FastifyInstance } from 'fastify'
import { PassThrough } from 'node:stream'
import { BASE_PATH } from '../../contract/operations.ts'
import type { TransferEvent } from '../../contract/event.ts'
import type { Account } from '../../store/accounts.ts'
import type { Context } from '../context.ts'
import { authenticate } from '../guard.ts'
import { NodeError } from '../../errors.ts'

type Listener = (event: TransferEvent) => void

const MOST_STREAMS = 500
/** A slow reader loses progress events, so that the node need not keep them. */
const MOST_WAITING = 256 * 1024
const RECHECK_MS = 15_000

export class EventHub {
  readonly #listeners = new Set<Listener>()
  readonly #endings = new Set<() => void>()

  get size(): number {
    return this.#listeners.size
  }

  publish(event: TransferEvent): void {
    for (const listener of this.#listeners) listener(event)
  }

  listen(listener: Listener, end: () => void): () => void {
    this.#listeners.add(listener)
    this.#endings.add(end)
    return () => {
      this.#listeners.delete(listener)
      this.#endings.delete(end)
    }
  }

  close(): void {
    for (const end of this.#endings) end()
  }
}

export function addEventRoute(app: FastifyInstance, context: Context, hub: EventHub): void {
  app.get(`${BASE_PATH}/events`, async (request, reply) => {
    const user = await authenticate(context, request)
    if (user.role === 'ROLE_CONTROLATOR')
      throw new NodeError('forbidden', `role ${user.role} may not see transfers`)
    if (hub.size >= MOST_STREAMS)
      throw new NodeError('unavailable', 'too many event streams are open', { retryAfterSeconds: 10 })
    const stream = new PassThrough()
    const reach = await reachOf(context, user)
    const stopListening = hub.listen(
      (event) => {
        if (!reach.has(event.channelCode)) return
        if (event.kind === 'progress' && stream.readableLength > MOST_WAITING) return
        stream.write(`event: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`)
      },
      () => stream.end(),
    )
    const recheck = setInterval(() => void recheckUser(), RECHECK_MS)
    const recheckUser = async () => {
      try {
        await reach.refresh(await authenticate(context, request))
        stream.write(': still here\n\n')
      } catch {
        stream.end()
      }
    }
    request.raw.once('close', () => stream.destroy())
    stream.once('close', () => {
      clearInterval(recheck)
      stopListening()
    })
    stream.write(': connected\n\n')
    return reply
      .type('text/event-stream; charset=utf-8')
      .header('Cache-Control', 'no-store')
      .header('X-Accel-Buffering', 'no')
      .send(stream)
  })
}

/** The codes this user may reach. Read again now and then, because channels come and go. */
async function reachOf(context: Context, user: Account) {
  let codes = new Set((await context.channelAccess(context.store.db, user)).codes)
  return {
    has: (code: string) => codes.has(code),
    refresh: async (fresh: Account) => {
      codes = new Set((await context.channelAccess(context.store.db, fresh)).codes)
    },
  }
}
