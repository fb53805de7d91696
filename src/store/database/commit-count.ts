// What the threads of this process share in memory, and with it how often they have committed to SQLite. A thread that was
// told of something by another one sees there that it must read anew, without asking the database. Commits of other processes
// are not counted.

import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

/** Threads inherit what stands under the name when they are started: the first one makes it. */
export function sharedWords(name: string, count: number): Int32Array<SharedArrayBuffer> {
  const known = getEnvironmentData(name)
  const memory =
    known instanceof SharedArrayBuffer ? known : new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT)
  if (memory !== known) setEnvironmentData(name, memory)
  return new Int32Array(memory)
}

const count = sharedWords('esclusa commits', 1)

export function commitCount(): number {
  return Atomics.load(count, 0)
}

/** To be called before anybody is told of the commit. */
export function countCommit(): void {
  Atomics.add(count, 0, 1)
}
