// When a system's token or a console's session was last used: noted once a minute at the most, behind the request, so that
// no request waits for a write. What is lost when a node dies is less than that minute.

import { newest } from '../domain/newest.ts'
import type { Store, Tx } from '../store/database/store.ts'

const APART_MS = 60_000

export type NoteUse = (id: string, now: number) => void

export function makeNoteUse(store: Store, note: (tx: Tx, id: string, now: number) => Promise<void>): NoteUse {
  const noted = newest<number>(10_000)
  return (id, now) => {
    if (now - (noted.get(id) ?? 0) < APART_MS) return
    noted.set(id, now)
    // Only a remark: a database that does not answer is told by the request itself.
    store.write((tx) => note(tx, id, now)).catch(() => noted.delete(id))
  }
}
