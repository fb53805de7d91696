// The thread of copies.ts. Each copy is durable when it is told, and leaves nothing if it could not be made.

import { hash } from 'node:crypto'
import { closeSync, fsync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as turnEnds } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { thisThreadStepsBack } from '../../thread-priority.ts'
import { syncFolder } from '../folder-sync.ts'
import { readUnchanged } from '../unchanged.ts'
import type { Copied, CopyAnswer, CopyOrder, SmallCopy } from './copies.ts'
import { removeName, writeNew } from './new-file.ts'

thisThreadStepsBack()

/** One order after the other is written; those before it are synced meanwhile. */
let written: Promise<unknown> = Promise.resolve()

parentPort?.on('message', (order: CopyOrder) => {
  const memory = new ArrayBuffer(octetsIntoMemory(order.copies))
  const making = written.then(() => makeCopies(order, memory))
  written = making
  void making
    .then((made) => syncAll(order, made))
    .then((copied) => parentPort?.postMessage({ id: order.id, copied } satisfies CopyAnswer, [memory]))
})

/** An order's syncs are heard of between the files of the next. */
const BETWEEN_TURNS = 8

async function makeCopies({ copies }: CopyOrder, memory: ArrayBuffer): Promise<Made[]> {
  let used = 0
  const made: Made[] = []
  for (const copy of copies) {
    if (made.length % BETWEEN_TURNS === 0 && made.length > 0) await turnEnds()
    const size = sizeInMemory(copy)
    const into = size === undefined ? undefined : new Uint8Array(memory, used, size)
    used += size ?? 0
    made.push(makeCopy(copy, into))
  }
  return made
}

/** All are written by now, and their syncs wait together, with those of their folders: one of the disk's journal serves many. */
async function syncAll({ copies, syncNames }: CopyOrder, made: readonly Made[]): Promise<Copied[]> {
  const folders = new Set(syncNames ? copies.flatMap(({ to }) => (to === null ? [] : dirname(to))) : [])
  const naming = [...folders].map((folder) =>
    syncFolder(folder).then(
      () => true,
      () => false,
    ),
  )
  const synced = await Promise.all(made.map((copy) => sync(copy?.file)))
  const areNamed = (await Promise.all(naming)).every(Boolean)
  return copies.map(({ to }, nth) => {
    const copy = made[nth]
    if (copy && synced[nth] === true && areNamed) return copy.copied
    if (copy && to !== null) removeName(to)
    return undefined
  })
}

function octetsIntoMemory(copies: readonly SmallCopy[]): number {
  return copies.reduce((sum, copy) => sum + (sizeInMemory(copy) ?? 0), 0)
}

function sizeInMemory({ from, to }: SmallCopy): number | undefined {
  if (to !== null) return undefined
  return from instanceof Uint8Array ? from.length : from.expected.size
}

/** `file` is open, and not synced. */
type Made = { copied: NonNullable<Copied>; file?: number } | undefined

function makeCopy({ from, to }: SmallCopy, into: Uint8Array | undefined): Made {
  try {
    const octets = from instanceof Uint8Array ? from : readUnchanged(from.path, from.expected, into)
    const sha256 = hash('sha256', octets)
    return to === null ? { copied: { sha256, octets } } : { copied: { sha256 }, file: writeNew(to, octets) }
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
