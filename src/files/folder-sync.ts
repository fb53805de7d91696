// Makes names in a folder durable (fsync). Thousands of small files come and go in the same few folders. All who ask
// while a sync runs share the next one, so there is not one sync per file.

import { closeSync, constants, fsync, openSync } from 'node:fs'
import { promisify } from 'node:util'

const sync = promisify(fsync)

const running = new Map<string, Promise<void>>()
const waiting = new Map<string, Promise<void>>()

/** Resolves when every change of names made before this call is on the disk. */
export function syncFolder(path: string): Promise<void> {
  const known = waiting.get(path)
  if (known) return known
  const before = running.get(path)
  if (!before) return begin(path)
  const mine = before
    .catch(() => {}) // its own callers hear of it
    .then(() => {
      waiting.delete(path)
      return begin(path)
    })
  waiting.set(path, mine)
  return mine
}

function begin(path: string): Promise<void> {
  const now = syncNow(path).finally(() => {
    if (running.get(path) === now) running.delete(path)
  })
  running.set(path, now)
  return now
}

/** The sync begins at once: the caller's thread may be held up by a commit the next moment. */
async function syncNow(path: string): Promise<void> {
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await sync(folder)
  } finally {
    closeSync(folder)
  }
}
