// The handle on the engine's thread for the rest of the node: start it, tell it something, stop it. A thread that dies is
// started again. The leases of the dead one run out, and what it ran goes on from its restart points.
//
// One that no longer answers makes the node not ready at once. It is ended and started again when its leases have run out:
// until then it may come back, after that it holds nothing. A stop waits for the drain, but not for a silent thread.

import { Worker } from 'node:worker_threads'
import type { Config } from '../config.ts'
import { ERROR_CODES, messageOf, NodeError, systemCode } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'
import { NO_LAG, worse } from '../event-loop-lag.ts'
import type { Lag } from '../event-loop-lag.ts'
import type { Log } from '../log.ts'
import { NOTHING_COUNTED } from './counters.ts'
import type { Counters } from './counters.ts'
import type { TransferEvent } from '../contract/event.ts'
import type { FromEngine, ThreadData, ToEngine } from './thread-messages.ts'
import { Watchdog } from './watchdog.ts'
import type { Patience } from './watchdog.ts'

export type EngineThread = {
  /** Resolves when the engine listens and works. Messages sent before that wait for it. */
  ready: Promise<void>
  tell(message: ToEngine): void
  /** What it has moved, and how late it got to its work since the last time this was asked. */
  figures(): Counters & { lag: Lag }
  /** False while it has said nothing for a while. */
  answers(): boolean
  stop(): Promise<void>
}

const RESTART_MS = 1000
const SILENT_MS = 10_000
const LEAST_GIVEN_UP_MS = 30_000
/** What a drain may take beyond its own time: sessions are closed politely. */
const STOP_GRACE_MS = 30_000
// Beside this file as a source, beside the file this one was joined into (tools/bundle.mjs) as JavaScript.
const WORKER = new URL(import.meta.url.endsWith('.ts') ? 'worker.ts' : 'worker.js', import.meta.url)

export type ThreadParts = {
  config: Config
  owner: string
  log: Log
  heard: (event: TransferEvent) => void
  /** The engine has a file for a channel whose reception another node may have. */
  wanted: (channelCode: string) => void
  /** Another thread and other times, for tests. */
  worker?: URL
  patience?: Patience
}

export function startEngineThread(parts: ThreadParts): EngineThread {
  const { config, owner, log, heard, wanted } = parts
  let state: 'running' | 'stopping' = 'running'
  let worker: Worker
  let past: Counters = NOTHING_COUNTED
  let current: Counters = NOTHING_COUNTED
  let lag = NO_LAG
  let generation = 0
  let restart: NodeJS.Timeout | undefined
  let over = false
  const watchdog = new Watchdog(parts.patience ?? patienceFor(config), {
    silent: (ms) =>
      log.error({ silentSeconds: Math.round(ms / 1000) }, 'the engine thread does not answer: not ready'),
    back: () => log.warn('the engine thread answers again'),
    givenUp: (ms) => {
      const silentSeconds = Math.round(ms / 1000)
      log.error({ silentSeconds }, 'the engine thread does not answer: it is ended and started anew')
      void worker.terminate()
    },
  })
  function launch(): Promise<void> {
    // Each start gets another owner name: what the dead one held does not count as ours.
    const data: ThreadData = { config, owner: `${owner}-${++generation}` }
    const made = new Worker(parts.worker ?? WORKER, { workerData: data })
    worker = made
    over = false
    return new Promise((resolve, reject) => {
      made.on('message', (message: FromEngine) => {
        watchdog.heard()
        if (message.kind === 'event') heard(message.event)
        if (message.kind === 'channel wanted') wanted(message.channelCode)
        if (message.kind === 'counters') {
          current = message.counters
          lag = worse(lag, message.lag)
        }
        if (message.kind === 'ready') resolve()
      })
      made.once('error', (error) => {
        log.error({ err: error }, 'the engine thread died')
        reject(asThrown(error))
      })
      made.once('exit', () => {
        over = true
        past = together(past, current)
        current = NOTHING_COUNTED
        if (state === 'running') restart = setTimeout(() => void launch().catch(() => {}), RESTART_MS).unref()
      })
    })
  }
  return {
    ready: launch(),
    tell: (message) => worker.postMessage(message),
    figures: () => {
      const figures = { ...together(past, current), lag }
      lag = NO_LAG
      return figures
    },
    answers: () => watchdog.answers,
    stop: async () => {
      state = 'stopping'
      clearTimeout(restart)
      if (!over) await stopped(worker, () => watchdog.answers, config.drainSeconds * 1000 + STOP_GRACE_MS)
      watchdog.stop()
    },
  }
}

/** On its way out of the thread an error loses its class, and keeps its code and its message. */
function asThrown(error: unknown): unknown {
  const code = Object.keys(ERROR_CODES).find((one) => one === systemCode(error)) as ErrorCode | undefined
  return code === undefined ? error : new NodeError(code, messageOf(error), { cause: error })
}

function patienceFor({ leaseSeconds }: Config): Patience {
  return { silentMs: SILENT_MS, givenUpMs: Math.max(LEAST_GIVEN_UP_MS, 2000 * leaseSeconds) }
}

/** Resolves when the thread is gone: by itself, or ended because it is silent or takes too long. */
function stopped(worker: Worker, answers: () => boolean, timeoutMs: number): Promise<void> {
  const began = performance.now()
  return new Promise((resolve) => {
    const look = setInterval(() => {
      if (!answers() || performance.now() - began > timeoutMs) void worker.terminate()
    }, 500)
    worker.once('exit', () => {
      clearInterval(look)
      resolve()
    })
    worker.postMessage({ kind: 'stop' } satisfies ToEngine)
  })
}

function together(one: Counters, other: Counters): Counters {
  return {
    emitted: one.emitted + other.emitted,
    received: one.received + other.received,
    quotaRefusals: one.quotaRefusals + other.quotaRefusals,
  }
}
