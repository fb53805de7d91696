// Numbers about the node and the platform at /metrics, in Prometheus' text form (version 0.0.4). They name channels and
// partners by their codes, and never a person, file or secret. Labels come from closed lists or from the configuration;
// nothing that a stranger sends becomes one.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createHash, timingSafeEqual } from 'node:crypto'
import { Registry } from 'prom-client'
import type { Networks } from '../../domain/network/networks.ts'
import { isAdministrator } from '../../domain/user.ts'
import { NodeError } from '../../errors.ts'
import { clientAddress } from '../client-address.ts'
import type { Context } from '../context.ts'
import { authenticate } from '../guard.ts'
import type { EventHub } from '../platform/events.ts'
import { makeNodeFigures, makeWriteHistogram } from './node-figures.ts'
import type { EngineFigures } from './node-figures.ts'
import { makePlatformFigures } from './platform-figures.ts'
import type { PlatformParts } from './platform-figures.ts'

/** Who may read the numbers, besides administrators: callers with this token, or from these networks. */
export type MetricsAccess = { token: string | undefined; networks: Networks }

export type Metrics = {
  /** A write of this thread took so many seconds. */
  wrote(seconds: number): void
  addRoute(app: FastifyInstance, context: Context, parts: MetricsParts): void
}

export type MetricsParts = {
  hub: EventHub
  engine: () => EngineFigures
  access: MetricsAccess
} & PlatformParts

export function makeMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const writes = makeWriteHistogram(registers)
  return {
    wrote: (seconds) => writes.observe(seconds),
    addRoute: (app, context, { hub, engine, access, ...parts }) => {
      const node = makeNodeFigures(registers, app, context, { engine, streams: () => hub.size })
      const platform = makePlatformFigures(registers, context, parts)
      let turn: Promise<string> = Promise.resolve('')
      // Two readers at once must not count the same span twice, nor see each other's figures half set.
      const read = () =>
        (turn = turn
          .catch(() => '')
          .then(async () => {
            await platform()
            await node()
            return registry.metrics()
          }))
      app.get('/metrics', async (request, reply) => {
        await requireReader(context, access, request)
        return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await read())
      })
    },
  }
}

/** Listening on loopback is no protection: a proxy on this machine lets everybody in. */
async function requireReader(
  context: Context,
  { token, networks }: MetricsAccess,
  request: FastifyRequest,
): Promise<void> {
  if (networks.has(clientAddress(request))) return
  const given = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  if (token !== undefined && given !== undefined && sameText(given, token)) return
  if (!isAdministrator(await authenticate(context, request)))
    throw new NodeError('forbidden', 'the metrics are for administrators')
}

function sameText(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
