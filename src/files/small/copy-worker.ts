// The thread of copies.ts. Each copy is durable when it is told, and leaves nothing if it could not be made.

import { closeSync, fsync } from 'node:fs'
import { hash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { removeName, writeNew } from './new-file.ts'
import type { CopyAnswer, CopyOrder, SmallCopy } from './copies.ts'
import { readUnchanged } from '../unchanged.ts'
import { thisThreadStepsBack } from '../../thread-priority.ts'

thisThreadStepsBack()

parentPort?.on('message', ({ id, copies }: CopyOrder) => {
  const hashes: CopyAnswer['hashes'] = copies.map(() => undefined)
  let left = copies.length
  for (const [nth, copy] of copies.entries())
    begin(copy, (sha256) => {
      hashes[nth] = sha256
      if (--left === 0) parentPort?.postMessage({ id, hashes } satisfies CopyAnswer)
    })
})

/** The syncs of all copies wait together: one of the disk's journal serves many. */
function begin({ from, expected, to }: SmallCopy, over: (sha256: string | undefined) => void): void {
  try {
    const bytes = readUnchanged(from, expected)
    const sha256 = hash('sha256', bytes)
    const file = writeNew(to, bytes)
    fsync(file, (fault) => {
      closeSync(file)
      if (!fault) return over(sha256)
      removeName(to)
      over(undefined)
    })
  } catch {
    removeName(to)
    over(undefined)
  }
}
