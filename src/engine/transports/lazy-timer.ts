// A timer for something that is put off again and again. Putting it off only notes the new moment. When the real timer
// fires too early, it is set again. Setting a real timer at every command took more time than reading the command.

/** Node takes a timer for longer as one for a millisecond. */
const MOST_MS = 2 ** 31 - 1

export class LazyTimer {
  readonly #due: () => void
  #timer: NodeJS.Timeout | undefined
  #ms = 0
  /** Infinity: it stands still. */
  #dueAt = Infinity
  #looksAt = Infinity

  constructor(due: () => void) {
    this.#due = due
  }

  start(ms: number): void {
    this.#ms = ms
    this.#dueAt = performance.now() + ms
    if (this.#looksAt > this.#dueAt) this.#look()
  }

  /** Begins anew if it runs. */
  putOff(): void {
    if (this.#dueAt !== Infinity) this.#dueAt = performance.now() + this.#ms
  }

  stop(): void {
    this.#dueAt = Infinity
  }

  /** Stops it for good: nothing of it keeps the process alive. */
  end(): void {
    this.#dueAt = Infinity
    this.#looksAt = Infinity
    clearTimeout(this.#timer)
  }

  #look(): void {
    clearTimeout(this.#timer)
    this.#looksAt = this.#dueAt
    this.#timer = setTimeout(
      () => {
        this.#looksAt = Infinity
        if (this.#dueAt === Infinity) return
        if (performance.now() < this.#dueAt) return this.#look()
        this.#dueAt = Infinity
        this.#due()
      },
      Math.min(MOST_MS, Math.ceil(this.#dueAt - performance.now())),
    )
  }
}
