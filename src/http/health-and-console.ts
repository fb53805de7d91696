// What the node adds to the interface: health, the OpenAPI document, the reference page and the console. None of it is
// under /connect-back/integration.

import type { FastifyInstance } from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'
import { NodeError } from '../errors.ts'
import { ping, tryWrite } from '../store/database/probe.ts'
import { addConsoleRoutes } from './console.ts'
import type { Context } from './context.ts'
import { addDocumentRoutes } from './document/routes.ts'
import { addEventRoute } from './platform/events.ts'
import type { EventHub } from './platform/events.ts'

export type Readiness = {
  ready: boolean
  /** Whether the engine's thread still answers. */
  engineAnswers: () => boolean
}

export function addPlatformRoutes(app: FastifyInstance, context: Context, events: EventHub): Readiness {
  const readiness: Readiness = { ready: false, engineAnswers: () => true }
  addEventRoute(app, context, events)
  addConsoleRoutes(app)
  app.get('/healthz', () => ({ status: 'alive' }))
  const writeFault = watchWrites(context)
  app.get('/readyz', async (_request, reply) => {
    const why = (await notReady(context, readiness)) ?? (await inTime(writeFault(), NO_ANSWER))
    return why === undefined
      ? reply.send({ status: 'ready' })
      : reply.code(503).send({ status: 'not ready', reason: why })
  })
  addDocumentRoutes(app)
  return readiness
}

async function notReady(context: Context, { ready, engineAnswers }: Readiness): Promise<string | undefined> {
  if (!ready) return 'starting or stopping'
  if (!engineAnswers()) return 'the engine does not answer'
  return (await inTime(databaseAnswers(context), false)) ? undefined : NO_ANSWER
}

const NO_ANSWER = 'the database does not answer'
/** Whoever asks waits for less than a database that hangs: it is to hear why this node is not ready. */
const ANSWER_MS = 5000

async function inTime<T>(answer: Promise<T>, otherwise: T): Promise<T> {
  const over = new AbortController()
  const late = delay(ANSWER_MS, otherwise, { signal: over.signal, ref: false })
  late.catch(() => {})
  return Promise.race([answer, late]).finally(() => over.abort())
}

async function databaseAnswers({ store }: Context): Promise<boolean> {
  return ping(store.db).then(
    () => true,
    () => false,
  )
}

/** How long a write that went well stands for the next ones: each costs a sync of the disk. */
const WRITABLE_MS = 10_000

/** Why the database cannot be written. Those who ask at once share one try. */
function watchWrites({ store, now }: Context): () => Promise<string | undefined> {
  let trying: Promise<string | undefined> | undefined
  let writtenAt = -Infinity
  const tryOnce = async () => {
    try {
      await tryWrite(store, now())
      writtenAt = performance.now()
      return undefined
    } catch (thrown) {
      return thrown instanceof NodeError ? thrown.message : 'the database cannot be written'
    } finally {
      trying = undefined
    }
  }
  return async () => (performance.now() - writtenAt < WRITABLE_MS ? undefined : await (trying ??= tryOnce()))
}
