// Knows when a thread no longer answers. The thread says something every second; what it does not say in time is told
// once, and after a longer while the thread is given up. A watcher that was held up itself (a suspended machine, a busy
// process) waits anew: what the thread said meanwhile may still lie in its mailbox.

const TICK_MS = 1000

export type Patience = {
  /** Silence after which the thread counts as not answering. */
  silentMs: number
  /** Silence after which it is given up. */
  givenUpMs: number
}

export type WatchdogEvents = { silent: (ms: number) => void; back: () => void; givenUp: (ms: number) => void }

export class Watchdog {
  readonly #patience: Patience
  readonly #events: WatchdogEvents
  #heardAt = 0
  #tickedAt = 0
  #state: 'off' | 'answers' | 'silent' | 'given up' = 'off'
  #timer: NodeJS.Timeout | undefined

  constructor(patience: Patience, events: WatchdogEvents) {
    this.#patience = patience
    this.#events = events
  }

  get answers(): boolean {
    return this.#state === 'off' || this.#state === 'answers'
  }

  /** The thread said something; the first time starts the watch. */
  heard(): void {
    this.#heardAt = performance.now()
    const before = this.#state
    this.#state = 'answers'
    if (before === 'off') this.#start()
    else if (before !== 'answers') this.#events.back()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#state = 'off'
  }

  #start(): void {
    this.#tickedAt = this.#heardAt
    this.#timer = setInterval(() => this.#look(), TICK_MS).unref()
  }

  #look(): void {
    const now = performance.now()
    const late = now - this.#tickedAt - TICK_MS
    this.#tickedAt = now
    if (late > TICK_MS) this.#heardAt = now
    const silence = now - this.#heardAt
    if (this.#state === 'answers' && silence > this.#patience.silentMs) {
      this.#state = 'silent'
      this.#events.silent(silence)
    }
    if (this.#state === 'silent' && silence > this.#patience.givenUpMs) {
      this.#state = 'given up'
      this.#events.givenUp(silence)
    }
  }
}
