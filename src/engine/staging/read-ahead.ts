// A small file, read before its turn on the line comes: its hash is known by then, and nothing of it is open while it
// waits. What was read is the file that was picked up, unchanged from the first octet to the last; what becomes of it
// afterwards is another file.

import { createHash, hash } from 'node:crypto'
import { QuickDisk } from '../../files/small/quick-disk.ts'
import { readUnchanged } from '../../files/unchanged.ts'
import type { Expected } from '../../files/unchanged.ts'
import { LengthWalk } from '../transforms/record-walk.ts'
import type { Digest, HashedPart, Source } from '../transports/transport.ts'
import { FileSource } from './file-source.ts'

/** A file as it is sent: read by a transport, hashed on the way. */
export type Outgoing = Source &
  Pick<FileSource, 'hashAlso' | 'finish' | 'receiptHash' | typeof Symbol.asyncDispose>

/** Many of them wait in memory. */
export const READ_AHEAD_OCTETS = 256 * 1024

const disk = new QuickDisk()

export class ReadAhead implements Outgoing {
  readonly size: number
  readonly #bytes: Uint8Array
  readonly #sha256: string
  #receiptHash: string

  private constructor(bytes: Uint8Array, sha256: string) {
    this.size = bytes.length
    this.#bytes = bytes
    this.#sha256 = sha256
    this.#receiptHash = sha256
  }

  static async open(path: string, expected: Expected): Promise<ReadAhead> {
    if (!disk.isQuick) return ReadAhead.#openSlowly(path, expected)
    const bytes = disk.do(() => readUnchanged(path, expected))
    return new ReadAhead(bytes, hash('sha256', bytes))
  }

  static async #openSlowly(path: string, expected: Expected): Promise<ReadAhead> {
    await using source = await FileSource.open(path, expected)
    const bytes = Buffer.allocUnsafeSlow(source.size)
    for (let done = 0; done < bytes.length;) done += await source.read(bytes.subarray(done), done)
    return new ReadAhead(bytes, await source.finish())
  }

  read(into: Uint8Array, position: number): Promise<number> {
    const piece = this.#bytes.subarray(position, position + into.length)
    into.set(piece)
    return Promise.resolve(piece.length)
  }

  hashAlso(digest: Digest, part: HashedPart): void {
    if (digest === 'sha256' && part === 'octets') return
    const bytes = part === 'records' ? new LengthWalk().strip(this.#bytes) : this.#bytes
    this.#receiptHash = createHash(digest).update(bytes).digest('hex')
  }

  finish(): Promise<string> {
    return Promise.resolve(this.#sha256)
  }

  receiptHash(): Promise<string> {
    return Promise.resolve(this.#receiptHash)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }
}
