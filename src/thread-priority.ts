// Whoever asks the node something waits for its main thread. Files that are compressed keep all threads of Node's pool busy
// without a pause, and hashes of big files threads of their own; where cores are few, a request must not queue behind them.
// So these step back a little. The engine's own thread does not: it renews the signs of life by which the node holds its
// transfers. Linux alone knows priorities of threads; elsewhere nothing is changed.

import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { basename } from 'node:path'

/** Each step is a fifth less of a contested core. */
const STEPS_BACK = 3
const TASKS = '/proc/self/task'
const POOL = 'libuv-worker'

/** To be called when the pool has begun to work: its threads come all at once with the first file that is read. */
export function poolStepsBack(): void {
  ifAllowed(() => {
    for (const task of readdirSync(TASKS))
      if (readFileSync(`${TASKS}/${task}/comm`, 'utf8').trim() === POOL) stepBack(task)
  })
}

/** The thread that calls it. */
export function thisThreadStepsBack(): void {
  ifAllowed(() => stepBack(basename(readlinkSync('/proc/thread-self'))))
}

function stepBack(task: string): void {
  const priority = Math.min(constants.priority.PRIORITY_LOW, getPriority(process.pid) + STEPS_BACK)
  setPriority(Number(task), priority)
}

function ifAllowed(steps: () => void): void {
  try {
    steps()
  } catch {
    // Not Linux, or not allowed: threads stay as they are.
  }
}
