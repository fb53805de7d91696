// What a platform does for itself beside its work: sealing anew, forgetting what is old. Each task is done by one node at
// a time, in small pieces with pauses between them, and may stop anywhere: the next run finds what is left.

import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../log.ts'
import type { Store } from '../store/database/store.ts'
import { holdTask, releaseTask, taskDoneAt } from '../store/upkeep-tasks.ts'

export type Upkeep = {
  store: Store
  owner: string
  log: Log
  now: () => number
}

/** Calls `piece` until it says that there is nothing left. */
export type Pieces = (piece: () => Promise<boolean>) => Promise<void>

export type Task = {
  name: string
  everyMs: number
  /** At least so long between two pieces, however quick they are. */
  pauseMs?: number
  /** May throw; it is tried again at the next look. */
  run(pieces: Pieces): Promise<void>
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
    if (!(await store.write((tx) => holdTask(tx, task.name, holdOf(upkeep))))) return
    let doneAt: number | undefined
    try {
      await task.run((piece) => inPieces(upkeep, task, piece, signal))
      doneAt = now()
    } finally {
      await store.write((tx) => releaseTask(tx, task.name, owner, doneAt))
    }
  } catch (thrown) {
    if (!signal.aborted) log.warn({ err: thrown, task: task.name }, 'upkeep could not be done')
  }
}

function holdOf({ owner, now }: Upkeep) {
  return { owner, now: now(), until: now() + HOLD_MS }
}

async function inPieces(
  upkeep: Upkeep,
  task: Task,
  piece: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  let heldAt = upkeep.now()
  for (;;) {
    signal.throwIfAborted()
    const began = performance.now()
    const more = await piece()
    if (!more) return
    const took = performance.now() - began
    await delay(Math.max(task.pauseMs ?? PAUSE_MS, took / SHARE - took), undefined, { signal })
    if (upkeep.now() - heldAt < HOLD_MS / 4) continue
    heldAt = upkeep.now()
    if (!(await upkeep.store.write((tx) => holdTask(tx, task.name, holdOf(upkeep)))))
      throw new Error('another node has taken the task over')
  }
}
