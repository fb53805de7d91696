// How long writes take, from the asking to the commit: what a slow disk or a busy database does to everybody.

import type { Store } from '../database/store.ts'

/** The same store; `took` hears of each write, in seconds, whether it went well or not. */
export function timedWrites(store: Store, took: (seconds: number) => void): Store {
  return {
    ...store,
    write: async (change) => {
      const began = performance.now()
      try {
        return await store.write(change)
      } finally {
        took((performance.now() - began) / 1000)
      }
    },
  }
}
