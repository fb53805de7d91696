// Files under way, in the data folder: outgoing files in their wire form, and incoming ones before they are in place.
// Everything here can be thrown away without losing a file.

import { closeSync, constants, fsync, openSync, write, writeSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { fromFileError } from '../../errors.ts'
import { ensureFolder, markOf } from '../../files/place.ts'
import { BLOCK_OCTETS, blocks, runSteps } from '../transforms/step.ts'
import type { Step } from '../transforms/step.ts'

export type Staging = {
  outgoing(transferId: string, name: string): Promise<string>
  /** Removes the files whose names begin with `prefix`. */
  dropOutgoing(transferId: string, prefix: string): Promise<void>
  incoming(name: string): Promise<string>
  /** The folder of those, which is there afterwards. */
  incomingFolder(): Promise<string>
  /** The same for a small file, see `isQuick`. Its folder is looked after when it is written. */
  incomingQuick(name: string): string
  /** Where a file waits for a partner who calls to take it. */
  spooled(transferId: string, name: string): Promise<string>
  spooledOf(transferId: string): Promise<string[]>
  /** The transfer of a file that waits so; undefined for any other. */
  spooledFor(path: string): string | undefined
  /** Paths of all that is on its way in, and of all that waits for partners who call. */
  allUnderWay(): Promise<string[]>
  /** Somebody here writes it, or what is made of it, until then. */
  inHand(path: string, until: Promise<void>): void
  isInHand(path: string): boolean
  quarantine(transferId: string, name: string): Promise<string>
  /** Removes what a transfer that is over has left, but for what still lies ready of it. */
  clear(transferId: string): Promise<void>
  /** Ids of transfers that have something here. */
  known(): Promise<string[]>
}

export function makeStaging(dataDir: string): Staging {
  const out = join(dataDir, 'outgoing')
  const written = new Set<string>()
  const partial = join(dataDir, 'partial')
  const incomingFolder = async () => {
    await ensureFolder(partial)
    return partial
  }
  return {
    outgoing: async (transferId, name) => {
      await ensureFolder(join(out, transferId))
      return join(out, transferId, name)
    },
    dropOutgoing: async (transferId, prefix) => {
      for (const name of await readdir(join(out, transferId)).catch(() => []))
        if (name.startsWith(prefix)) await rm(join(out, transferId, name), { force: true })
    },
    incoming: async (name) => join(await incomingFolder(), `${name}.part`),
    incomingFolder,
    incomingQuick: (name) => join(partial, `${name}${QUICK}`),
    spooled: async (transferId, name) => {
      await ensureFolder(join(dataDir, 'outbox'))
      return join(dataDir, 'outbox', `${transferId}.${name}`)
    },
    spooledOf: async (transferId) =>
      (await pathsIn(join(dataDir, 'outbox'))).filter((path) => basename(path).startsWith(`${transferId}.`)),
    spooledFor: (path) =>
      dirname(path) === join(dataDir, 'outbox') ? basename(path).split('.', 1)[0] : undefined,
    allUnderWay: async () => [...(await pathsIn(partial)), ...(await pathsIn(join(dataDir, 'outbox')))],
    inHand: (path, until) => {
      written.add(path)
      void until.finally(() => written.delete(path))
    },
    isInHand: (path) => written.has(receivedPath(markedBy(path))),
    quarantine: async (transferId, name) => {
      await ensureFolder(join(dataDir, 'quarantine', transferId))
      return join(dataDir, 'quarantine', transferId, name)
    },
    clear: (transferId) => rm(join(out, transferId), { recursive: true, force: true }),
    known: () => readdir(out).catch(() => []),
  }
}

async function pathsIn(folder: string): Promise<string[]> {
  const names: string[] = await readdir(folder).catch(() => [])
  return names.map((name) => join(folder, name))
}

const QUICK = '.quick.part'

/**
 * A small file. Earlier versions wrote WHOLE a moment before its octets were on the disk: after a crash they are looked at
 * before they count (place-file.ts).
 */
export function isQuick(received: string): boolean {
  return received.endsWith(QUICK)
}

/** The received file that a mark is about; any other path is given back. */
export function markedBy(path: string): string {
  return path.replace(/\.placed$/, '')
}

/** Where the local form of a received file lies until it is in place. */
export function localPath(received: string): string {
  return `${received}.out`
}

/** Where the bytes lie as they came, for a local form made by `localPath`. */
export function receivedPath(staged: string): string {
  return staged.replace(/\.out$/, '')
}

/** Removes a received file together with its local form and its mark, which a crash may have left. */
export async function removeReceived(path: string): Promise<void> {
  for (const one of [path, localPath(path)])
    for (const name of [one, markOf(one)]) await rm(name, { force: true })
}

/**
 * Runs the steps into a file and syncs it. If a step fails, no file is left. Returns the size. What is small is written in
 * this thread: to ask another one for each step takes longer.
 */
export async function stage(
  source: AsyncIterable<Uint8Array>,
  steps: readonly Step[],
  path: string,
): Promise<number> {
  try {
    const file = openSync(path, TO_WRITE, 0o640)
    try {
      let size = 0
      for await (const block of blocks(runSteps(source, steps))) {
        await writeAll(file, block)
        size += block.length
      }
      await sync(file)
      return size
    } finally {
      closeSync(file)
    }
  } catch (thrown) {
    await rm(path, { force: true })
    throw fromFileError(thrown, 'the data folder')
  }
}

const TO_WRITE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW
const sync = promisify(fsync)
const writeBeside = promisify(write)

async function writeAll(file: number, block: Buffer): Promise<void> {
  for (let done = 0; done < block.length;) {
    const left = block.length - done
    done +=
      block.length < BLOCK_OCTETS
        ? writeSync(file, block, done, left)
        : (await writeBeside(file, block, done, left)).bytesWritten
  }
}

/** Runs the steps only to check. Nothing is kept. */
export async function drainSteps(source: AsyncIterable<Uint8Array>, steps: readonly Step[]): Promise<void> {
  const pieces = runSteps(source, steps)[Symbol.asyncIterator]()
  while (!(await pieces.next()).done);
}
