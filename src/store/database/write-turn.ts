// The threads of this process that write to one SQLite file take turns, in the order in which they ask. Without that who
// finds the file locked sleeps, longer each time, and a thread with much to write has locked it again before the other
// looks: hundreds of requests that each write kept the engine's thread, and all its sessions, waiting for a quarter of a second.
//
// SQLite's own lock is what guards the file, against other processes too. So whoever has waited here for long goes on to that:
// the thread that had the turn may be gone.

import { sharedWords } from './commit-count.ts'

const PATIENCE_MS = 1000
/** Where the next number to be given stands, and the one whose turn it is. */
const [NEXT, CURRENT] = [0, 1]

export type WriteTurn = {
  /** Waits for the turn, and gives what ends it. */
  take(): () => void
}

export function writeTurnOf(file: string): WriteTurn {
  const turn = sharedWords(`esclusa writes to ${file}`, 2)
  return {
    take: () => {
      const mine = Atomics.add(turn, NEXT, 1)
      const until = performance.now() + PATIENCE_MS
      for (let now = Atomics.load(turn, CURRENT); now !== mine; now = Atomics.load(turn, CURRENT)) {
        const left = until - performance.now()
        if (left <= 0) {
          Atomics.store(turn, CURRENT, mine)
          break
        }
        Atomics.wait(turn, CURRENT, now, left)
      }
      return () => {
        // Somebody may have waited too long for it.
        if (Atomics.compareExchange(turn, CURRENT, mine, (mine + 1) | 0) === mine)
          Atomics.notify(turn, CURRENT)
      }
    },
  }
}
