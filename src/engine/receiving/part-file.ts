// A file on its way in. Bytes go to a `.part` in the data folder, at any position. They are hashed on the way as long as
// they come in order. Now and then the part without gaps is synced and its length recorded, so that the partner can go
// on from there after a break, after a crash, or on another node.

import { closeSync, constants, fdatasync, fstatSync, fsync, ftruncate, openSync, read, write } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { NodeError, fromFileError, systemCode } from '../../errors.ts'
import { syncFolder } from '../../files/folder-sync.ts'
import { hashFile } from '../../files/hash.ts'
import { FileHash } from '../staging/hash-thread.ts'
import type { RestartPoints } from '../staging/restart-points.ts'

// What touches no octets is done in this thread: asking another one costs several times as much, and the database's own
// commits wait for the same disk here.
const io = {
  read: promisify(read),
  write: promisify(write),
  sync: promisify(fsync),
  datasync: promisify(fdatasync),
  truncate: promisify(ftruncate),
}

export type Whole = { size: number; sha256: string }
export type Checkpoint = (position: number) => Promise<void>

/** Where the octets of a file on its way in go. */
export interface Part {
  readonly path: string
  read(into: Uint8Array, position: number): Promise<number>
  truncate(length: number): Promise<void>
  write(chunk: Uint8Array, position: number): Promise<void>
  /** Size and hash of the whole. Octets and name are on the disk when it resolves. */
  finish(): Promise<Whole>
  /** Keeps what is contiguous for a later try. */
  keepAll(): Promise<void>
  close(): Promise<void>
}

export class PartFile implements Part {
  readonly path: string
  readonly #descriptor: number
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #every: RestartPoints
  readonly #checkpoint: Checkpoint
  #hash: FileHash | undefined
  /** Octets are hashed one piece after the other. */
  #hashing: Promise<void> = Promise.resolve()
  #contiguous: number
  #hashed: number
  #kept: number
  #keptAt = -Infinity
  #keeping: Promise<void> | undefined
  #closed = false
  /** Whether all of it got to the disk; undefined while more may come. */
  #ending: Promise<boolean> | undefined
  /** What the first sync failed by. */
  #fault: unknown

  private constructor(
    path: string,
    file: number,
    position: number,
    every: RestartPoints,
    checkpoint: Checkpoint,
  ) {
    this.path = path
    this.#descriptor = file
    this.#contiguous = position
    this.#kept = position
    // Bytes of an earlier try are hashed at the end, by reading the whole file.
    this.#hashed = position === 0 ? 0 : -1
    this.#every = every
    this.#checkpoint = checkpoint
  }

  static async open(
    path: string,
    position: number,
    every: RestartPoints,
    checkpoint: Checkpoint,
  ): Promise<PartFile> {
    try {
      const begin = position === 0 ? constants.O_TRUNC : 0
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | begin
      const file = openSync(path, flags, 0o640)
      if (position > 0) await io.truncate(file, position)
      return new PartFile(path, file, position, every, checkpoint)
    } catch (thrown) {
      throw fromFileError(thrown, 'the data folder')
    }
  }

  /** Once it is closed its number belongs to the next file that is opened: whatever used it then would harm that one. */
  get #file(): number {
    if (this.#closed) throw new NodeError('connection_lost', 'the received file is closed')
    return this.#descriptor
  }

  /** `close` waits for it. */
  #use<T>(operation: Promise<T>): Promise<T> {
    this.#underWay.add(operation)
    return operation.finally(() => this.#underWay.delete(operation))
  }

  /** Octets here without a gap. */
  get contiguous(): number {
    return this.#contiguous
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    return (await this.#use(io.read(this.#file, into, 0, into.length, position))).bytesRead
  }

  async truncate(length: number): Promise<void> {
    await this.#use(io.truncate(this.#file, length))
    this.#contiguous = Math.min(this.#contiguous, length)
    this.#kept = Math.min(this.#kept, length)
    this.#hash?.drop()
    this.#hash = undefined
    this.#hashed = length === 0 ? 0 : -1
  }

  async write(chunk: Uint8Array, position: number): Promise<void> {
    try {
      let done = 0
      while (done < chunk.length) {
        done += await this.#writeSome(chunk.subarray(done), position + done)
      }
    } catch (thrown) {
      throw fromFileError(thrown, 'the data folder')
    }
    const hashed = position === this.#hashed
    this.#hashed = hashed ? position + chunk.length : -1
    if (position <= this.#contiguous) this.#contiguous = Math.max(this.#contiguous, position + chunk.length)
    this.#keepNowAndThen()
    if (hashed && !this.#closed) await this.#hashNext(chunk)
  }

  async #writeSome(chunk: Uint8Array, position: number): Promise<number> {
    return (await this.#use(io.write(this.#file, chunk, 0, chunk.length, position))).bytesWritten
  }

  /** Its memory is the caller's again when this resolves. */
  #hashNext(chunk: Uint8Array): Promise<void> {
    const hash = (this.#hash ??= new FileHash(['sha256']))
    this.#hashing = this.#hashing.then(() => hash.update(chunk))
    return this.#hashing
  }

  async #digest(): Promise<string[]> {
    const hash = this.#hash ?? new FileHash(['sha256'])
    // It is over by its digest, not by the end of the file.
    this.#hash = undefined
    await this.#hashing
    return hash.digest()
  }

  #keepNowAndThen(): void {
    const { octets, pauseMs } = this.#every
    if (this.#keeping || this.#contiguous - this.#kept < octets) return
    const now = performance.now()
    if (now - this.#keptAt < pauseMs) return
    this.#keptAt = now
    const position = this.#contiguous - (this.#contiguous % octets)
    // A restart point that could not be kept costs time later, never a byte.
    this.#keeping = this.#keep(position)
      .catch(() => {})
      .finally(() => (this.#keeping = undefined))
  }

  async #keep(position: number): Promise<void> {
    await this.#soundly(io.datasync(this.#file))
    await this.#checkpoint(position)
    this.#kept = position
  }

  /**
   * A system tells once that octets could not be written, and forgets them: the next sync succeeds without them. So after
   * one that failed nothing of this try counts as being on the disk.
   */
  async #soundly(syncing: Promise<void>): Promise<void> {
    try {
      await this.#use(syncing)
    } catch (thrown) {
      this.#fault ??= thrown
    }
    if (this.#fault !== undefined) throw this.#fault
  }

  async finish(): Promise<Whole> {
    await this.#keeping
    try {
      const { size } = fstatSync(this.#file)
      const hashing = this.#hashed === size ? this.#digest() : undefined
      const synced = this.#sync()
      this.#ending = synced.then(
        () => true,
        () => false,
      )
      const [sha256 = ''] = (await hashing) ?? [await hashFile(this.path, 'the received file')]
      await synced
      return { size, sha256 }
    } catch (thrown) {
      throw fromFileError(thrown, 'the data folder')
    }
  }

  async #sync(): Promise<void> {
    try {
      await Promise.all([this.#soundly(io.sync(this.#file)), syncFolder(dirname(this.path))])
      await this.close()
    } catch (thrown) {
      throw fromFileError(thrown, 'the data folder')
    }
  }

  async keepAll(): Promise<void> {
    await this.#keeping
    // When it has ended, all of it is on the disk, unless that failed.
    if (this.#ending && (await this.#ending)) await this.#checkpoint(this.#contiguous)
    else if (!this.#closed) await this.#keep(this.#contiguous)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#hash?.drop()
    await Promise.allSettled(this.#underWay)
    closeSync(this.#descriptor)
  }
}

/**
 * Takes what an earlier try left, under a new name. An earlier try that slept, here or on another node, must not cut or
 * remove what this one writes. The half file is moved if the transfer is ours, and copied if another may be active. False:
 * it is gone.
 */
export async function goOnFrom(
  half: string,
  path: string,
  bring: (from: string, to: string) => Promise<void>,
): Promise<boolean> {
  try {
    await bring(half, path)
    return true
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENOENT') throw fromFileError(thrown, 'the data folder')
    return false
  }
}
