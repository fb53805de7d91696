// The thread of copies.ts. Each copy is durable when it is told, and leaves nothing if it could not be made.

import { hash } from 'node:crypto'
import { closeSync, fsync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as turnEnds } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { thisThreadStepsBack } from '../../thread-priority.ts'
import { syncFolder } from '../folder-sync.ts'
import { readUnchanged } from '../unchanged.ts'
import type { CopyAnswer, CopyOrder } from './copies.ts'
import { removeName, writeNew } from './new-file.ts'

thisThreadStepsBack()

/** One order after the other is written; those before it are synced meanwhile. */
let written: Promise<unknown> = Promise.resolve()

parentPort?.on('message', (order: CopyOrder) => {
  const { id, given } = order
  const read = new ArrayBuffer(octetsToRead(order))
  const making = written.then(() => makeCopies(order, read))
  written = making
  void making
    .then((made) => syncAll(order, made))
    .then((sha256) => {
      parentPort?.postMessage({ id, sha256, read, given } satisfies CopyAnswer, [read, given])
    })
})

/** An order's syncs are heard of between the files of the next. */
const BETWEEN_TURNS = 8

async function makeCopies({ paths, sizes, times, to, given }: CopyOrder, read: ArrayBuffer): Promise<Made[]> {
  let [usedOfGiven, usedOfRead] = [0, 0]
  const made: Made[] = []
  for (const [nth, path] of paths.entries()) {
    if (nth % BETWEEN_TURNS === 0 && nth > 0) await turnEnds()
    const [size = 0, modifiedAt = 0, target = null] = [sizes[nth], times[nth], to[nth]]
    if (path === null) {
      const octets = new Uint8Array(given, usedOfGiven, size)
      usedOfGiven += size
      made.push(makeCopy(target, () => octets))
    } else {
      const into = target === null ? new Uint8Array(read, usedOfRead, size) : undefined
      usedOfRead += into?.length ?? 0
      made.push(makeCopy(target, () => readUnchanged(path, { size, modifiedAt }, into)))
    }
  }
  return made
}

/** All are written by now, and their syncs wait together, with those of their folders: one of the disk's journal serves many. */
async function syncAll({ to, syncNames }: CopyOrder, made: readonly Made[]): Promise<(string | undefined)[]> {
  const folders = new Set(syncNames ? to.flatMap((path) => (path === null ? [] : dirname(path))) : [])
  const naming = [...folders].map((folder) =>
    syncFolder(folder).then(
      () => true,
      () => false,
    ),
  )
  const synced = await Promise.all(made.map((copy) => sync(copy?.file)))
  const areNamed = (await Promise.all(naming)).every(Boolean)
  return made.map((copy, nth) => {
    if (copy && synced[nth] === true && areNamed) return copy.sha256
    const path = to[nth]
    if (copy && path) removeName(path)
    return undefined
  })
}

function octetsToRead({ to, sizes }: CopyOrder): number {
  return sizes.reduce((sum, size, nth) => sum + (to[nth] === null ? size : 0), 0)
}

/** `file` is open, and not synced. */
type Made = { sha256: string; file?: number } | undefined

/** Undefined: it could not be made, and nothing is left of it. */
function makeCopy(to: string | null, octetsOf: () => Uint8Array): Made {
  try {
    const octets = octetsOf()
    const sha256 = hash('sha256', octets)
    return to === null ? { sha256 } : { sha256, file: writeNew(to, octets) }
  } catch {
    if (to !== null) removeName(to)
    return undefined
  }
}

/** Closes it, too. A disk that fails may tell so when a file is closed. */
async function sync(file: number | undefined): Promise<boolean> {
  if (file === undefined) return true
  return new Promise((resolve) =>
    fsync(file, (fault) => {
      let isSound = !fault
      try {
        closeSync(file)
      } catch {
        isSound = false
      }
      resolve(isSound)
    }),
  )
}
