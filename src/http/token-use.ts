// When a system's token was last used: noted once a minute at the most, behind the request, so that no request waits for
// a write. What is lost when a node dies is less than that minute.

import { LRUCache } from 'lru-cache'
import { noteTokenUse } from '../store/tokens.ts'
import type { Store } from '../store/database/store.ts'

const APART_MS = 60_000

export function makeTokenUse(store: Store): (id: string, now: number) => void {
  const noted = new LRUCache<string, number>({ max: 10_000 })
  return (id, now) => {
    if (now - (noted.get(id) ?? 0) < APART_MS) return
    noted.set(id, now)
    // Only a remark: a database that does not answer is told by the request itself.
    store.write((tx) => noteTokenUse(tx, id, now)).catch(() => noted.delete(id))
  }
}
