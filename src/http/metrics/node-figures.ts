// What the metrics tell of this node: its threads, memory, disks, requests and how its database answers.

import type { FastifyInstance } from 'fastify'
import { statfs } from 'node:fs/promises'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import { measureLag } from '../../event-loop-lag.ts'
import type { Lag } from '../../event-loop-lag.ts'
import { VERSION } from '../../root.ts'
import { ping } from '../../store/database/probe.ts'
import type { Context } from '../context.ts'

const WRITE_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** What the engine's thread says of itself. */
export type EngineFigures = { emitted: number; received: number; quotaRefusals: number; lag: Lag }

export function makeWriteHistogram(registers: Registry[]): Histogram {
  return new Histogram({
    name: 'esclusa_database_write_seconds',
    help: 'How long writes of the HTTP thread take, from the asking to the commit.',
    buckets: WRITE_SECONDS,
    registers,
  })
}

export function makeNodeFigures(
  registers: Registry[],
  app: FastifyInstance,
  context: Context,
  parts: { engine: () => EngineFigures; streams: () => number },
) {
  const gauge = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Gauge<T>({ name, help, labelNames, registers })
  const counter = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Counter<T>({ name, help, labelNames, registers })
  const requests = countRequests(
    app,
    counter('esclusa_http_requests_total', 'Requests answered, by class of status.', ['status']),
  )
  const moved = counter('esclusa_bytes_moved_total', 'Octets of files moved by the engine of this node.', [
    'direction',
  ])
  const quota = counter(
    'esclusa_quota_refusals_total',
    'Files of partners that this node refused because a quota was met.',
  )
  const streams = gauge('esclusa_event_streams', 'Open streams of live events.')
  const lagHelp = 'How late a thread gets to its work, since the last reading'
  const lag = gauge('esclusa_event_loop_lag_seconds', `${lagHelp}.`, ['thread', 'quantile'])
  const lagMax = gauge('esclusa_event_loop_lag_seconds_max', `${lagHelp}, at worst.`, ['thread'])
  const answer = gauge(
    'esclusa_database_ping_seconds',
    'How long a small read of the database took just now.',
  )
  const free = gauge('esclusa_disk_free_bytes', 'Room that this node may still use.', ['path'])
  const size = gauge('esclusa_disk_size_bytes', 'Size of the file system.', ['path'])
  const rss = gauge('process_resident_memory_bytes', 'Memory of the whole process.')
  const heap = gauge('nodejs_heap_used_bytes', 'JavaScript heap of the HTTP thread.')
  const external = gauge('nodejs_external_memory_bytes', 'Memory outside the heap, buffers included.')
  const cpu = counter('process_cpu_seconds_total', 'Processor time of all threads.')
  const started = gauge('process_start_time_seconds', 'When the process started, since 1970.')
  gauge('esclusa_build_info', 'What runs here.', ['version', 'node']).set(
    { version: VERSION, node: process.version },
    1,
  )
  started.set(Date.now() / 1000 - process.uptime())

  const meter = measureLag()
  app.addHook('onClose', (_app, done) => {
    meter.stop()
    done()
  })
  const showLag = (thread: string, { p50, p90, p99, max }: Lag) => {
    lag.set({ thread, quantile: '0.5' }, p50)
    lag.set({ thread, quantile: '0.9' }, p90)
    lag.set({ thread, quantile: '0.99' }, p99)
    lagMax.set({ thread }, max)
  }

  return async () => {
    const engine = parts.engine()
    setTotal(moved, engine.emitted, { direction: 'EMISION' })
    moved.inc({ direction: 'RECEPCION' }, engine.received)
    setTotal(quota, engine.quotaRefusals)
    streams.set(parts.streams())
    requests()
    showLag('http', meter.read())
    showLag('engine', engine.lag)
    const began = performance.now()
    await ping(context.store.db)
    answer.set((performance.now() - began) / 1000)
    for (const path of [context.dataDir, ...context.roots.fileRoots]) {
      // A share that is away has no room to tell of; that is seen elsewhere.
      const disk = await statfs(path).catch(() => undefined)
      if (disk) free.set({ path }, disk.bavail * disk.bsize)
      else free.remove({ path })
      if (disk) size.set({ path }, disk.blocks * disk.bsize)
    }
    const memory = process.memoryUsage()
    rss.set(memory.rss)
    heap.set(memory.heapUsed)
    external.set(memory.external + memory.arrayBuffers)
    const { user, system } = process.cpuUsage()
    setTotal(cpu, (user + system) / 1e6)
  }
}

/** For totals that somebody else keeps; those with labels begin with the first of them. */
function setTotal<T extends string>(total: Counter<T>, value: number, labels?: Record<T, string>): void {
  total.reset()
  if (labels) total.inc(labels, value)
  else total.inc(value)
}

/** By class, so that what strangers ask for makes no series. */
function countRequests(app: FastifyInstance, requests: Counter<'status'>): () => void {
  const classes = [0, 0, 0, 0, 0, 0]
  app.addHook('onResponse', (_request, reply, done) => {
    const index = Math.floor(reply.statusCode / 100)
    classes[index] = (classes[index] ?? 0) + 1
    done()
  })
  return () => {
    requests.reset()
    for (const index of [1, 2, 3, 4, 5]) requests.inc({ status: `${index}xx` }, classes[index] ?? 0)
  }
}
