// A local file as a transport reads it. The bytes are hashed as they pass, once and in order. What a transport skips in a
// resumption is read here, so the hash is always that of the whole file. At the end the file must still be the one that
// was opened, unchanged.

import type { Stats } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { NodeError, fromFileError } from '../../errors.ts'
import { TO_READ, changed, notOpened, requireAsOpened, requireSameFile } from '../../files/unchanged.ts'
import type { Expected } from '../../files/unchanged.ts'
import type { Digest, HashedPart, Source } from '../transports/transport.ts'
import { FileHash, RecordHash } from './hash-thread.ts'

const CATCH_UP = 1024 * 1024

export class FileSource implements Source {
  readonly size: number
  readonly #path: string
  /** What errors call it. */
  readonly #named: string
  readonly #file: FileHandle
  readonly #expected: Expected | undefined
  #hash: FileHash | undefined
  /** Hashed too, where receipts show another one. */
  #other: Digest | undefined
  #records: RecordHash | undefined
  #hashed = 0
  /** Once the whole file was hashed. */
  #hex: Promise<string[]> | undefined
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(
    { path, named }: { path: string; named: string },
    file: FileHandle,
    size: number,
    expected: Expected | undefined,
  ) {
    this.#path = path
    this.#named = named
    this.#file = file
    this.size = size
    this.#expected = expected
  }

  /**
   * `expected` is size and time when the file was picked up. A file that has changed since is refused. `named`: what errors
   * call it, where its path is one of the data folder and tells nobody anything.
   */
  static async open(path: string, expected?: Expected, named = path): Promise<FileSource> {
    try {
      const file = await open(path, TO_READ)
      try {
        const found = await file.stat()
        const source = new FileSource({ path, named }, file, found.size, expected)
        await source.requireUnchanged(found)
        return source
      } catch (thrown) {
        await file.close()
        throw thrown
      }
    } catch (thrown) {
      throw notOpened(named, thrown)
    }
  }

  /** Reads take turns: a transport may ask for several at once, but the hash needs the bytes in order. */
  read(into: Uint8Array, position: number): Promise<number> {
    return this.#inTurn(async () => {
      if (position > this.#hashed) await this.#catchUp(position)
      const bytesRead = await this.#readAt(position, into, into.length)
      if (bytesRead === 0 && position < this.size) throw this.#changed()
      if (position + bytesRead > this.#hashed) {
        await this.#update(into.subarray(this.#hashed - position, bytesRead))
      }
      return bytesRead
    })
  }

  /** Whoever sends it writes elsewhere at the same time: what this file's disk says is told of this file. */
  async #readAt(position: number, into: Uint8Array, length: number): Promise<number> {
    try {
      return (await this.#file.read(into, 0, length, position)).bytesRead
    } catch (thrown) {
      throw fromFileError(thrown, this.#named)
    }
  }

  async #update(bytes: Uint8Array): Promise<void> {
    this.#hash ??= new FileHash(this.#other ? ['sha256', this.#other] : ['sha256'])
    await this.#hash.update(bytes)
    await this.#records?.update(bytes)
    this.#hashed += bytes.length
  }

  /** To be called before anything is read: `receiptHash` gives this digest then, of that part. */
  hashAlso(digest: Digest, part: HashedPart): void {
    if (this.#hashed > 0) throw new Error('a second hash is asked for after the first octets')
    if (part === 'records') this.#records = new RecordHash([digest])
    else if (digest !== 'sha256') this.#other = digest
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }

  /** Hashes what was skipped. */
  async #catchUp(upTo: number): Promise<void> {
    const piece = Buffer.allocUnsafeSlow(Math.min(CATCH_UP, Math.max(1, upTo - this.#hashed)))
    while (this.#hashed < upTo) {
      const length = Math.min(piece.length, upTo - this.#hashed)
      const bytesRead = await this.#readAt(this.#hashed, piece, length)
      if (bytesRead === 0) throw this.#changed()
      await this.#update(piece.subarray(0, bytesRead))
    }
  }

  /** Hex SHA-256 of the whole file, after making sure that it is still the same file. */
  async finish(): Promise<string> {
    return (await this.#whole())[0] ?? ''
  }

  async #whole(): Promise<string[]> {
    await this.#inTurn(() => this.#catchUp(this.size))
    await this.requireUnchanged()
    if (this.#hashed === 0) await this.#update(Buffer.alloc(0))
    return (this.#hex ??= this.#digests())
  }

  async #digests(): Promise<string[]> {
    return [...((await this.#hash?.digest()) ?? []), ...((await this.#records?.digest()) ?? [])]
  }

  /** The hash that a receipt shows: SHA-256 unless another was asked for. */
  async receiptHash(): Promise<string> {
    return (await this.#whole()).at(-1) ?? ''
  }

  async requireUnchanged(found?: Stats): Promise<void> {
    const now = found ?? (await this.#file.stat())
    requireAsOpened(this.#named, now, this.size, this.#expected)
    if (!this.#expected) return
    const named = await lstat(this.#path).catch((thrown: unknown) => {
      throw fromFileError(thrown, this.#named)
    })
    requireSameFile(this.#named, now, named)
  }

  #changed(): NodeError {
    return changed(this.#named)
  }

  close(): Promise<void> {
    this.#hash?.drop()
    this.#records?.drop()
    return this.#file.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** The file's bytes as a stream of pieces, for the transforms. */
export async function* piecesOf(source: Source, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let position = 0; position < source.size;) {
    signal.throwIfAborted()
    const piece = Buffer.allocUnsafeSlow(Math.min(256 * 1024, source.size - position))
    const length = await source.read(piece, position)
    if (length === 0) throw new NodeError('file_changed', 'the file became shorter while it was read')
    yield piece.subarray(0, length)
    position += length
  }
}
