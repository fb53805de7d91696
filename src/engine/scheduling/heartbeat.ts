// Says in the database that this engine is alive, on a connection of its own. Whatever the engine holds is its own for as
// long as that is said. An engine that was silent for longer must reckon with others having taken it.
//
// State: until when the last sign lasts (`#aliveUntil`, 0 before the first), and the signal that this silence breaks.
// Moves: each `beat` lengthens the time. A beat that comes after the time was over aborts `unbroken` and begins a new one.
// Callers: the dispatcher beats three times in each lease time and ends it when it drains. Whoever is about to claim
// something calls `ensure` first. Beats that overlap are one.

import { NodeError } from '../../errors.ts'
import type { Store } from '../../store/database/store.ts'
import { removeSign, signLife } from '../../store/transfers/signs-of-life.ts'

export type HeartbeatParts = { store: Store; owner: string; leaseMs: number; now: () => number }

export class Heartbeat {
  readonly #parts: HeartbeatParts
  #aliveUntil = 0
  #unbroken = new AbortController()
  #beating: Promise<void> | undefined

  constructor(parts: HeartbeatParts) {
    this.#parts = parts
  }

  /** Aborted when the engine turns out to have been silent for too long. After that there is a new signal. */
  get unbroken(): AbortSignal {
    return this.#unbroken.signal
  }

  beat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => (this.#beating = undefined))
    return this.#beating
  }

  async #beat(): Promise<void> {
    const { store, owner, leaseMs, now } = this.#parts
    const before = this.#aliveUntil
    const until = now() + leaseMs
    await store.urgent.write((tx) => signLife(tx, owner, until))
    this.#aliveUntil = until
    if (before === 0 || until - leaseMs <= before) return
    const silent = this.#unbroken
    this.#unbroken = new AbortController()
    silent.abort(new NodeError('lease_lost', 'this node was silent for longer than its leases last'))
  }

  /** Must be called before a claim: an engine that has just woken up would otherwise take over its own work. */
  async ensure(): Promise<void> {
    if (this.#parts.now() > this.#aliveUntil) await this.beat()
  }

  async end(): Promise<void> {
    const { store, owner, now } = this.#parts
    await store.urgent.write((tx) => removeSign(tx, owner, now()))
  }
}
