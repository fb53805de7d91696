// Takes what lies in a partner's outbox: each file is read, put in place and recorded here, and only then removed there.

import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import type { Stats } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { NodeError, fromFileError } from '../../../errors.ts'
import { isUntouched, removeIf } from '../../../files/place.ts'
import { FRESH_MS, SECOND_LOOK_MS } from '../../../files/send-set.ts'
import type { FilesLeft } from '../files-left.ts'
import { isTemporaryName } from '../temporary-name.ts'
import type { Call, Incoming, SessionHost } from '../transport.ts'
import { PIECE } from './bytes.ts'
import { folderFault } from './folder-faults.ts'

export class OutboxTaker {
  readonly #call: Pick<Call<unknown>, 'contactId' | 'applications' | 'reach'>
  readonly #host: SessionHost
  readonly #left: FilesLeft

  constructor(call: Call<unknown>, host: SessionHost, left: FilesLeft) {
    this.#call = call
    this.#host = host
    this.#left = left
  }

  async takeAll(outbox: string, signal: AbortSignal): Promise<void> {
    const applications = await this.#call.applications()
    const application = applications.length === 1 ? (applications[0] ?? '') : ''
    let refused: unknown
    for (const { name, found } of await readyFiles(outbox)) {
      signal.throwIfAborted()
      try {
        await this.#take(join(outbox, name), { name, found, application }, signal)
      } catch (thrown) {
        if (signal.aborted) throw signal.reason
        // A refused file stays where it is and does not hold up the others.
        if (!(thrown instanceof NodeError) || !LEFT_FOR_NOW.has(thrown.code)) refused ??= thrown
      }
    }
    if (refused !== undefined) throw refused
  }

  /** `sha256`: its octets were read and have this hash. */
  #offer({ name, found, application }: Ready & { application: string }, sha256?: string): Promise<Incoming> {
    const digits = found.mtime.toISOString().replaceAll(/[^0-9]/g, '')
    // With the inode in its key, a replacement of the same name and time is another file. But inodes are used again.
    const time = [digits.slice(8, 17), found.size, found.ino, ...(sha256 === undefined ? [] : [sha256])]
    return this.#host.offer({
      contactId: this.#call.contactId,
      application,
      name,
      key: { name, date: digits.slice(0, 8), time: time.join('-') },
      format: { kind: 'U', recordLength: 0 },
      envelope: undefined,
      size: found.size,
      restartFrom: found.size,
      fetched: true,
      reach: this.#call.reach,
      encryptedSession: false,
    })
  }

  async #take(path: string, file: Ready & { application: string }, signal: AbortSignal): Promise<void> {
    const { found } = file
    let incoming = await this.#offer(file)
    const id = `${path}/${found.size}/${found.mtimeMs}/${found.ino}`
    const reason = incoming.known && this.#left.reasonOf(id, Date.now())
    if (reason !== undefined) throw reason
    let sha256: string | undefined
    try {
      await using opened = await openSame(path, found)
      if (incoming.known) {
        const hash = createHash('sha256')
        await readOn(opened, { path, from: 0, to: found.size, signal }, (bytes) => void hash.update(bytes))
        sha256 = hash.digest('hex')
        if (sha256 !== incoming.known.sha256)
          incoming = await this.#offer(file, sha256).catch((thrown: unknown) => {
            // It was read in vain.
            if (thrown instanceof NodeError && !thrown.retry) this.#left.stays(id, thrown, Date.now())
            throw thrown
          })
      }
      await readOn(opened, { path, from: incoming.position, to: found.size, signal }, (bytes, position) =>
        incoming.write(bytes, position),
      )
      if (!isUntouched(await opened.stat(), found))
        throw new NodeError('file_changed', `${path} changed while it was read`)
      await incoming.complete({ size: found.size, ...(sha256 !== undefined && { sha256 }) })
    } catch (thrown) {
      const fault = fromFileError(thrown, path)
      await incoming.abandon(fault, fault.code !== 'file_changed')
      throw fault
    }
    // If it was replaced or written to meanwhile, it is another file, and fetched the next time.
    try {
      removeIf(path, (now) => isUntouched(now, found))
      this.#left.gone(id)
    } catch (thrown) {
      this.#left.stays(id, thrown, Date.now())
      throw thrown
    }
  }
}

/** Not now; or another fetch is at it. */
const LEFT_FOR_NOW: ReadonlySet<string> = new Set(['conflict', 'duplicate_file'])

type Ready = { name: string; found: Stats }

/** What lies in the outbox and is not still being written. */
async function readyFiles(outbox: string): Promise<Ready[]> {
  const names = await readdir(outbox).catch((thrown: unknown) => {
    throw folderFault(thrown, outbox)
  })
  const files: Ready[] = []
  for (const name of names.sort()) {
    if (isTemporaryName(name)) continue
    const found = await lstat(join(outbox, name)).catch(() => undefined)
    if (found?.isFile()) files.push({ name, found })
  }
  const freshFrom = Date.now() - FRESH_MS
  if (!files.some(({ found }) => found.mtimeMs > freshFrom)) return files
  await delay(SECOND_LOOK_MS)
  const ready: Ready[] = []
  for (const file of files) {
    const now =
      file.found.mtimeMs > freshFrom
        ? await lstat(join(outbox, file.name)).catch(() => undefined)
        : file.found
    if (now && isUntouched(now, file.found)) ready.push(file)
  }
  return ready
}

async function readOn(
  file: FileHandle,
  { path, from, to, signal }: { path: string; from: number; to: number; signal: AbortSignal },
  take: (bytes: Uint8Array, position: number) => Promise<void> | void,
): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(PIECE, to) || 1)
  for (let position = from; position < to;) {
    signal.throwIfAborted()
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, to - position), position)
    if (bytesRead === 0) throw new NodeError('file_changed', `${path} became shorter while it was read`)
    await take(buffer.subarray(0, bytesRead), position)
    position += bytesRead
  }
}

/** The file that was seen, not one that has taken its place since. */
async function openSame(path: string, seen: Stats): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const { ino, dev } = await file.stat()
  if (ino === seen.ino && dev === seen.dev) return file
  await file.close()
  throw new NodeError('file_changed', `${path} was replaced while it was read`)
}
