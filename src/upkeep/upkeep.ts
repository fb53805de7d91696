// What a platform does for itself beside its work: sealing anew, forgetting what is old. Each task is done by one node at
// a time, in small pieces with pauses between them, and may stop anywhere: the next run finds what is left. A node that
// was held up for longer than it holds a task finds at the next piece that another has it.

import { setTimeout as delay } from 'node:timers/promises'
import { NodeError, toNodeError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Store, Tx } from '../store/database/store.ts'
import { holdTask, isHeldBy, releaseTask, taskDoneAt } from '../store/upkeep-tasks.ts'

export type Upkeep = {
  store: Store
  owner: string
  log: Log
  now: () => number
}

/** Calls `piece` until it says that there is nothing left. */
export type Pieces = (piece: () => Promise<boolean>) => Promise<void>

/** For what two nodes must not do at once, however long one of them is held up in the middle of a piece. */
export type Hold = {
  /** Throws where another node may have the task by now. */
  require(): void
  /** Throws where it has; from here to the end of the transaction none can take it. */
  requireIn(tx: Tx): Promise<void>
}

export type Task = {
  name: string
  everyMs: number
  /** At least so long between two pieces, however quick they are. */
  pauseMs?: number
  /** May throw; it is tried again at the next look. */
  run(pieces: Pieces, hold: Hold): Promise<void>
}

const LOOK_MS = 30_000
const FIRST_LOOK_MS = 2000
const HOLD_MS = 120_000
/** Of the time, so much goes into upkeep; the rest is pause. */
const SHARE = 0.2
const PAUSE_MS = 5

export function startUpkeep(upkeep: Upkeep, tasks: readonly Task[]): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const loop = async () => {
    for (let wait = FIRST_LOOK_MS; !signal.aborted; wait = LOOK_MS) {
      await delay(wait, undefined, { signal, ref: false }).catch(() => {})
      for (const task of tasks) if (!signal.aborted) await attempt(upkeep, task, signal)
    }
  }
  const running = loop()
  return {
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

/** One task, if it is due and nobody else is at it. */
export async function attempt(
  upkeep: Upkeep,
  task: Task,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const { store, owner, log, now } = upkeep
  try {
    // What was done further ahead was done by a clock that has been set back since.
    if (Math.abs(now() - (await taskDoneAt(store.db, task.name))) < task.everyMs) return
    const hold = new TaskHold(upkeep, task.name)
    if (!(await hold.take())) return
    let doneAt: number | undefined
    try {
      await task.run((piece) => inPieces(task, piece, hold, signal), hold)
      doneAt = now()
    } finally {
      await store.write((tx) => releaseTask(tx, task.name, owner, doneAt))
    }
  } catch (thrown) {
    if (signal.aborted) return
    const level = PASSING.has(toNodeError(thrown).code) ? 'warn' : 'error'
    log[level]({ err: thrown, task: task.name }, 'upkeep could not be done')
  }
}

/** What goes by without anybody doing anything. A full disk does not: what is old stays until there is room. */
const PASSING: ReadonlySet<string> = new Set(['unavailable', 'lease_lost'])

class TaskHold implements Hold {
  readonly #upkeep: Upkeep
  readonly #name: string
  #heldUntil = 0

  constructor(upkeep: Upkeep, name: string) {
    this.#upkeep = upkeep
    this.#name = name
  }

  /** False: another node has it. Taken again before its end it is kept. */
  async take(): Promise<boolean> {
    const { store, owner, now } = this.#upkeep
    const until = now() + HOLD_MS
    if (!(await store.write((tx) => holdTask(tx, this.#name, { owner, now: now(), until })))) return false
    this.#heldUntil = until
    return true
  }

  /** Long before it is over, so that it is never over while a piece runs. */
  async keep(): Promise<void> {
    const left = this.#heldUntil - this.#upkeep.now()
    if (left > HOLD_MS - HOLD_MS / 4 && left <= HOLD_MS) return
    if (!(await this.take())) throw takenOver()
  }

  require(): void {
    if (this.#upkeep.now() > this.#heldUntil) throw takenOver()
  }

  async requireIn(tx: Tx): Promise<void> {
    const { store, owner } = this.#upkeep
    if (!(await isHeldBy(tx, store.dialect, this.#name, owner))) throw takenOver()
  }
}

function takenOver(): NodeError {
  return new NodeError('lease_lost', 'another node has taken the task over')
}

async function inPieces(
  task: Task,
  piece: () => Promise<boolean>,
  hold: TaskHold,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    await hold.keep()
    const began = performance.now()
    const more = await piece()
    if (!more) return
    const took = performance.now() - began
    await delay(Math.max(task.pauseMs ?? PAUSE_MS, took / SHARE - took), undefined, { signal })
  }
}
