// How often the threads of this process have committed to SQLite, counted in memory that they share. A thread that was told
// of something by another one sees here that it must read anew, without asking the database. Commits of other processes
// are not counted.

import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

/** Threads inherit what stands under it when they are started: the first one makes it. */
const NAME = 'esclusa commits'

const count = new Int32Array(sharedMemory())

function sharedMemory(): SharedArrayBuffer {
  const known = getEnvironmentData(NAME)
  if (known instanceof SharedArrayBuffer) return known
  const made = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  setEnvironmentData(NAME, made)
  return made
}

export function commitCount(): number {
  return Atomics.load(count, 0)
}

/** To be called before anybody is told of the commit. */
export function countCommit(): void {
  Atomics.add(count, 0, 1)
}
