// Numbers about the node at /metrics, in Prometheus' text form (version 0.0.4). They are counts and sizes; they name no
// channel, partner or person. Transfers belong to the platform, so all its nodes show the same numbers: take the
// maximum, not the sum.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createHash, timingSafeEqual } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { TRANSFER_DIRECTIONS, TRANSFER_STATUSES } from '../contract/transfer.ts'
import type { Networks } from '../domain/network/networks.ts'
import { isAdministrator } from '../domain/user.ts'
import { ACTIVE, isOver } from '../domain/transfer.ts'
import { NodeError } from '../errors.ts'
import { VERSION } from '../root.ts'
import type { Db } from '../store/database/store.ts'
import { countActive, countEnded } from '../store/transfers/transfer-counts.ts'
import type { TransferCount } from '../store/transfers/transfer-counts.ts'
import { clientAddress } from './client-address.ts'
import type { Context } from './context.ts'
import type { EventHub } from './platform/events.ts'
import { authenticate } from './guard.ts'

/** Who may read the numbers, besides administrators: callers with this token, or from these networks. */
export type MetricsAccess = { token: string | undefined; networks: Networks }

type Moved = { emitted: number; received: number }
type Labels = Record<string, string>
type Sample = { labels?: Labels; value: number }
type Metric = { name: string; type: 'counter' | 'gauge'; help: string; samples: Sample[] }

/** An end gets its time a moment before its commit makes it visible. So only ends older than this are counted. */
const SETTLED_MS = 10_000
const LAG_RESOLUTION_MS = 20

export function addMetricsRoute(
  app: FastifyInstance,
  context: Context,
  hub: EventHub,
  counters: () => Moved,
  access: MetricsAccess,
): void {
  const answers = countAnswers(app)
  const lag = watchLag(app)
  const ended = makeEndedCounter(context.now())
  app.get('/metrics', async (request, reply) => {
    await requireReader(context, access, request)
    const { db } = context.store
    const metrics = [
      underWay(await countActive(db)),
      await ended(db, context.now()),
      bytesMoved(counters()),
      single('esclusa_event_streams', 'gauge', 'Open streams of live events.', hub.size),
      answers(),
      ...lag(),
      ...processMetrics(),
      {
        ...single('esclusa_build_info', 'gauge', 'What runs here.', 1, {
          version: VERSION,
          node: process.version,
        }),
      },
    ]
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(metrics.map(write).join(''))
  })
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

function single(name: string, type: Metric['type'], help: string, value: number, labels?: Labels): Metric {
  return { name, type, help, samples: [{ value, ...(labels && { labels }) }] }
}

function underWay(counts: readonly TransferCount[]): Metric {
  const help = 'Transfers of the platform that are not over.'
  return { name: 'esclusa_transfers', type: 'gauge', help, samples: byWay(counts, ACTIVE) }
}

function byWay(counts: readonly TransferCount[], states: readonly TransferCount['state'][]): Sample[] {
  return TRANSFER_DIRECTIONS.flatMap((direction) =>
    states.map((state) => ({
      labels: { direction, status: state },
      value: counts.find((one) => one.direction === direction && one.state === state)?.count ?? 0,
    })),
  )
}

/** A total since the node's start. Each reading adds the short span since the last one from the database. */
function makeEndedCounter(startedAt: number): (db: Db, now: number) => Promise<Metric> {
  const over = TRANSFER_STATUSES.filter(isOver)
  const totals: TransferCount[] = []
  let upTo = startedAt
  let turn: Promise<void> = Promise.resolve()
  const add = async (db: Db, now: number) => {
    const before = now - SETTLED_MS
    if (before <= upTo) return
    for (const found of await countEnded(db, upTo, before)) {
      const known = totals.find((one) => one.direction === found.direction && one.state === found.state)
      if (known) known.count += found.count
      else totals.push(found)
    }
    upTo = before
  }
  return async (db, now) => {
    // Two readers at once must not count the same span twice.
    const mine = turn.then(() => add(db, now))
    turn = mine.catch(() => {})
    await mine
    const help = 'Transfers of the platform that have ended since this node started.'
    return { name: 'esclusa_transfers_ended_total', type: 'counter', help, samples: byWay(totals, over) }
  }
}

function bytesMoved({ emitted, received }: Moved): Metric {
  return {
    name: 'esclusa_bytes_moved_total',
    type: 'counter',
    help: 'Octets of files moved by the engine of this node.',
    samples: [
      { labels: { direction: 'EMISION' }, value: emitted },
      { labels: { direction: 'RECEPCION' }, value: received },
    ],
  }
}

function countAnswers(app: FastifyInstance): () => Metric {
  const classes = [0, 0, 0, 0, 0, 0]
  app.addHook('onResponse', (_request, reply, done) => {
    const index = Math.floor(reply.statusCode / 100)
    classes[index] = (classes[index] ?? 0) + 1
    done()
  })
  return () => ({
    name: 'esclusa_http_requests_total',
    type: 'counter',
    help: 'Requests answered, by class of status.',
    samples: classes.flatMap((value, index) =>
      index < 1 ? [] : [{ labels: { status: `${index}xx` }, value }],
    ),
  })
}

/** How many seconds a timer comes later than its interval. */
function lateBy(nanos: number): number {
  return Math.max(0, nanos / 1e9 - LAG_RESOLUTION_MS / 1000)
}

function watchLag(app: FastifyInstance): () => Metric[] {
  const delay = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  delay.enable()
  app.addHook('onClose', (_app, done) => {
    delay.disable()
    done()
  })
  return () => {
    const quantiles = [50, 90, 99].map((percent) => ({
      labels: { quantile: String(percent / 100) },
      value: lateBy(delay.percentile(percent)),
    }))
    const name = 'esclusa_event_loop_lag_seconds'
    const help = 'How late the HTTP thread gets to its work, since the last reading.'
    const most = Number.isFinite(delay.max) ? lateBy(delay.max) : 0
    delay.reset()
    return [
      { name, type: 'gauge', help, samples: quantiles },
      single(`${name}_max`, 'gauge', `${help.replace('.', '')}, at worst.`, most),
    ]
  }
}

function processMetrics(): Metric[] {
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const gauge = (name: string, help: string, value: number) => single(name, 'gauge', help, value)
  const startedAt = Date.now() / 1000 - process.uptime()
  return [
    gauge('process_resident_memory_bytes', 'Memory of the whole process.', rss),
    gauge('nodejs_heap_used_bytes', 'JavaScript heap of the HTTP thread.', heapUsed),
    gauge(
      'nodejs_external_memory_bytes',
      'Memory outside the heap, buffers included.',
      external + arrayBuffers,
    ),
    single('process_cpu_seconds_total', 'counter', 'Processor time of all threads.', (user + system) / 1e6),
    gauge('process_start_time_seconds', 'When the process started, since 1970.', startedAt),
  ]
}

function write({ name, type, help, samples }: Metric): string {
  const lines = samples.map(({ labels, value }) => `${name}${writeLabels(labels)} ${value}`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`
}

function writeLabels(labels: Labels | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}="${escape(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escape(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
