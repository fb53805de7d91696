// Events at /connect-back/events, as server-sent events, as far as the caller may see them: states and progress of
// transfers as they happen, and the stored events, each with its id, so that a reader that was cut off goes on after
// the last one it has (Last-Event-ID). The stream ends when the token ends, or when the user loses access.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { PassThrough } from 'node:stream'
import { BASE_PATH } from '../../contract/operations.ts'
import type { TransferEvent } from '../../contract/event.ts'
import { isAdministrator } from '../../domain/user.ts'
import { accessVersion } from '../../store/accounts.ts'
import type { Account } from '../../store/accounts.ts'
import type { Context } from '../context.ts'
import { authenticate } from '../guard.ts'
import type { EventRecord } from '../../domain/event.ts'
import { maySeeEvent } from '../../domain/event-access.ts'
import { NodeError } from '../../errors.ts'
import { placeAt } from '../notifications/events.ts'
import { EventFeed } from './event-feed.ts'
import { sendStored } from './stored-events.ts'

type Listener = (event: TransferEvent) => void
type Stream = { username: string; listener: Listener; end: () => void; recheck: () => Promise<void> }

const MOST_STREAMS = 500
/** Of those, what administrators alone may take: nobody shuts them out. */
const KEPT_FOR_ADMINISTRATORS = 50
const MOST_PER_USER = 32
/** A slow reader loses progress events, so that the node need not keep them. */
const MOST_WAITING = 256 * 1024
/** One that is farther behind is cut off: it can come back and go on after the last stored event that it has. */
const MOST_BEFORE_CUT = 1024 * 1024
const RECHECK_MS = 15_000
const WATCH_MS = 1000

export class EventHub {
  readonly #streams = new Set<Stream>()
  #poked: () => void = () => {}

  get size(): number {
    return this.#streams.size
  }

  publish(event: TransferEvent): void {
    for (const { listener } of this.#streams) listener(event)
  }

  of(username: string): number {
    return [...this.#streams].filter((stream) => stream.username === username).length
  }

  listen(stream: Stream): () => void {
    this.#streams.add(stream)
    return () => this.#streams.delete(stream)
  }

  async recheckAll(): Promise<void> {
    await Promise.all([...this.#streams].map(({ recheck }) => recheck()))
  }

  /** Stored events may have become more. */
  poke(): void {
    this.#poked()
  }

  onPoke(poked: () => void): void {
    this.#poked = poked
  }

  close(): void {
    for (const { end } of this.#streams) end()
  }
}

export function addEventRoute(app: FastifyInstance, context: Context, hub: EventHub): void {
  watchAccess(app, context, hub)
  const feed = new EventFeed(context.store)
  hub.onPoke(() => feed.poke())
  app.get(`${BASE_PATH}/events`, async (request, reply) => {
    const user = await requireReader(context, request)
    const lastId = request.headers['last-event-id']?.toString() || undefined
    const after =
      lastId === undefined ? undefined : await placeAt(context.store.db, lastId, 'the header Last-Event-ID')
    const stream = new PassThrough()
    const reach = await reachOf(context, user)
    // Nothing waits between this and the listening: streams asked for together are counted one by one.
    requireRoom(hub, user)
    // What the reader has not taken waits on both sides of the stream: the readable one stops at its high-water mark.
    const waiting = () => stream.readableLength + stream.writableLength
    const say = (text: string) => {
      if (waiting() > MOST_BEFORE_CUT) stream.destroy()
      else if (stream.writable) stream.write(text)
    }
    const recheck = async () => {
      try {
        await reach.refresh(await requireReader(context, request))
        say(': still here\n\n')
      } catch {
        stream.end()
      }
    }
    const stopListening = hub.listen({
      username: user.username,
      listener: (event) => {
        if (!reach.has(event.channelCode)) return
        if (event.kind === 'progress' && waiting() > MOST_WAITING) return
        say(`event: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`)
      },
      end: () => stream.end(),
      recheck,
    })
    const beat = setInterval(() => void recheck(), RECHECK_MS)
    request.raw.once('close', () => stream.destroy())
    say(': connected\n\n')
    let stopStored = () => {}
    stream.once('close', () => {
      clearInterval(beat)
      stopListening()
      stopStored()
    })
    stopStored = await sendStored(feed, stream, { after, sees: reach.sees, zone: context.zone })
    if (stream.destroyed) stopStored()
    return reply
      .type('text/event-stream; charset=utf-8')
      .header('Cache-Control', 'no-store')
      .header('X-Accel-Buffering', 'no')
      .send(stream)
  })
}

/** 401 and 403, at the start and as long as the stream lasts. */
async function requireReader(context: Context, request: FastifyRequest): Promise<Account> {
  const user = await authenticate(context, request)
  if (user.role === 'ROLE_CONTROLATOR')
    throw new NodeError('forbidden', `role ${user.role} may not see transfers`)
  return user
}

function requireRoom(hub: EventHub, user: Account): void {
  if (hub.of(user.username) >= MOST_PER_USER)
    throw new NodeError('too_many', `${user.username} has ${MOST_PER_USER} event streams open: close one`, {
      retryAfterSeconds: 10,
    })
  const room = isAdministrator(user) ? MOST_STREAMS : MOST_STREAMS - KEPT_FOR_ADMINISTRATORS
  if (hub.size >= room)
    throw new NodeError('unavailable', 'too many event streams are open', { retryAfterSeconds: 10 })
}

/**
 * Somebody who was disabled, whose token was revoked or to whom a channel was closed sees no more: one tiny read a second,
 * for all streams together, tells whether anything of that kind happened, on this node or another.
 */
function watchAccess(app: FastifyInstance, context: Context, hub: EventHub): void {
  let seen: string | undefined
  const look = async () => {
    const version = hub.size === 0 ? undefined : await accessVersion(context.store.db)
    const before = seen
    seen = version
    // Also at the first look: something may have happened since a stream was opened.
    if (before !== version) await hub.recheckAll()
  }
  // A database that does not answer is told by requests; the next look comes soon.
  const timer = setInterval(() => void look().catch(() => {}), WATCH_MS).unref()
  app.addHook('onClose', (_app, done) => {
    clearInterval(timer)
    done()
  })
}

/** What this user may see. Read again now and then, because channels and rights come and go. */
async function reachOf(context: Context, user: Account) {
  const read = async (account: Account) => {
    const codes = new Set((await context.channelAccess(context.store.db, account)).codes)
    return { codes, sees: (event: EventRecord) => maySeeEvent(account, event, (code) => codes.has(code)) }
  }
  let current = await read(user)
  return {
    has: (code: string) => current.codes.has(code),
    sees: (event: EventRecord) => current.sees(event),
    refresh: async (fresh: Account) => {
      current = await read(fresh)
    },
  }
}
