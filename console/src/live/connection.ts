// Whether the node answers, as everything that asks it finds out: the event stream, and every read of a page.

import { ClientError } from '../../../sdk/index.ts'

/** What a proxy says when the node behind it is gone. */
const GONE = new Set([502, 503, 504])

export class Connection {
  #answeredAt = Date.now()
  /** Since when there was no answer; undefined while there is one. */
  #lostSince: number | undefined
  readonly #listeners = new Set<() => void>()

  answered(): void {
    this.#answeredAt = Date.now()
    this.#set(undefined)
  }

  lost(): void {
    if (this.#lostSince === undefined) this.#set(this.#answeredAt)
  }

  /** A refusal is an answer. */
  failed(thrown: unknown): void {
    if (thrown instanceof ClientError && !GONE.has(thrown.status)) this.answered()
    else this.lost()
  }

  lostSince = (): number | undefined => this.#lostSince

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #set(since: number | undefined): void {
    if (since === this.#lostSince) return
    this.#lostSince = since
    for (const listener of this.#listeners) listener()
  }
}

/** One page talks to one node. */
export const connection = new Connection()
