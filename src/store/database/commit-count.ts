// How often the threads of this process have committed to SQLite, counted in memory that they share. A thread that was told
// of something by another one sees here that it must read anew, without asking the database. Commits of other processes
// are not counted.

import { sharedWords } from './shared-words.ts'

const count = sharedWords('esclusa commits', 1)

export function commitCount(): number {
  return Atomics.load(count, 0)
}

/** To be called before anybody is told of the commit. */
export function countCommit(): void {
  Atomics.add(count, 0, 1)
}
