// Makes names in a folder durable (fsync). Thousands of small files come and go in the same few folders. All who ask
// while a sync runs share the next one, so there is not one sync per file.

import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

const running = new Map<string, Promise<void>>()
const waiting = new Map<string, Promise<void>>()

/** Resolves when every change of names made before this call is on the disk. */
export function syncFolder(path: string): Promise<void> {
  const known = waiting.get(path)
  if (known) return known
  const before = running.get(path) ?? Promise.resolve()
  const mine = before
    .catch(() => {}) // its own callers hear of it
    .then(() => {
      waiting.delete(path)
      const now = syncNow(path).finally(() => {
        if (running.get(path) === now) running.delete(path)
      })
      running.set(path, now)
      return now
    })
  waiting.set(path, mine)
  return mine
}

async function syncNow(path: string): Promise<void> {
  await using folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  await folder.sync()
}
