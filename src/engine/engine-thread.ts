// The handle on the engine's thread for the rest of the node: start it, tell it something, stop it. A thread that dies is
// started again. The leases of the dead one run out, and what it ran goes on from its restart points.

import { Worker } from 'node:worker_threads'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import type { Counters } from './engine.ts'
import type { TransferEvent } from '../contract/event.ts'
import type { FromEngine, ThreadData, ToEngine } from './thread-messages.ts'

export type EngineThread = {
  /** Resolves when the engine listens and works. Messages sent before that wait for it. */
  ready: Promise<void>
  tell(message: ToEngine): void
  counters(): Counters
  stop(): Promise<void>
}

const RESTART_MS = 1000
// Beside this file as a source, beside the file this one was joined into (tools/bundle.mjs) as JavaScript.
const WORKER = new URL(import.meta.url.endsWith('.ts') ? 'worker.ts' : 'worker.js', import.meta.url)

export type ThreadParts = {
  config: Config
  masterKey: string
  owner: string
  log: Log
  heard: (event: TransferEvent) => void
}

export function startEngineThread({ config, masterKey, owner, log, heard }: ThreadParts): EngineThread {
  let state: 'running' | 'stopping' = 'running'
  let worker: Worker
  let past: Counters = { emitted: 0, received: 0 }
  let current: Counters = { emitted: 0, received: 0 }
  let generation = 0
  let restart: NodeJS.Timeout | undefined
  let over = false
  function launch(): Promise<void> {
    // Each start gets another owner name: what the dead one held does not count as ours.
    const data: ThreadData = { config, masterKey, owner: `${owner}-${++generation}` }
    const made = new Worker(WORKER, { workerData: data })
    worker = made
    over = false
    return new Promise((resolve, reject) => {
      made.on('message', (message: FromEngine) => {
        if (message.kind === 'event') heard(message.event)
        if (message.kind === 'counters') current = message.counters
        if (message.kind === 'ready') resolve()
      })
      made.once('error', (error) => {
        log.error({ err: error }, 'the engine thread died')
        reject(error)
      })
      made.once('exit', () => {
        over = true
        past = { emitted: past.emitted + current.emitted, received: past.received + current.received }
        current = { emitted: 0, received: 0 }
        if (state === 'running') restart = setTimeout(() => void launch().catch(() => {}), RESTART_MS).unref()
      })
    })
  }
  return {
    ready: launch(),
    tell: (message) => worker.postMessage(message),
    counters: () => ({ emitted: past.emitted + current.emitted, received: past.received + current.received }),
    stop: () => {
      state = 'stopping'
      clearTimeout(restart)
      if (over) return Promise.resolve()
      return new Promise((resolve) => {
        worker.once('exit', () => resolve())
        worker.postMessage({ kind: 'stop' } satisfies ToEngine)
      })
    },
  }
}
