// A thread for work beside that of the thread which asks. It keeps no process alive, and is ended, when nothing was asked
// of it for a while.

import { Worker } from 'node:worker_threads'
import type { Transferable } from 'node:worker_threads'

const IDLE_MS = 30_000

export class SideThread<To, From> {
  readonly #worker: Worker
  readonly #over: (cause: Error | undefined) => void
  #idle: NodeJS.Timeout | undefined
  #state: 'begun' | 'over' = 'begun'

  /** `over`: it is gone; with the cause, if it died. */
  constructor(
    url: URL,
    { heard, over }: { heard: (message: From) => void; over: (cause: Error | undefined) => void },
  ) {
    this.#over = over
    this.#worker = new Worker(url)
    this.#worker.on('message', heard)
    this.#worker.on('error', (cause) => this.#end(cause instanceof Error ? cause : new Error(String(cause))))
    this.#worker.on('exit', () => this.#end(new Error('it ended')))
  }

  say(message: To, transfer: Transferable[] = []): void {
    this.#worker.postMessage(message, transfer)
  }

  /** Somebody waits for it. */
  isNeeded(): void {
    clearTimeout(this.#idle)
    this.#worker.ref()
  }

  /** Nobody waits for it: a process may end. */
  isIdle(): void {
    this.#worker.unref()
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => {
      this.#end(undefined)
      void this.#worker.terminate()
    }, IDLE_MS)
    this.#idle.unref()
  }

  #end(cause: Error | undefined): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    clearTimeout(this.#idle)
    this.#over(cause)
  }
}
