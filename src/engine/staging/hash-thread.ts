// Hashes of big files, made in threads of their own: so a file is hashed while its next octets are read, encrypted and
// sent. Octets are copied into pieces, and the memory of a piece is handed to the thread and comes back; at most a few
// pieces of a file are under way, and whoever brings more waits. Small files are hashed where they are: a thread would
// cost more than it gains.
//
// State: the threads, at most one less than there are cores (none on a single core: then everything is hashed here), each
// with the hashes it has under way; one with nothing to do for a while is ended.
// Moves of a hash: `update` in the order of the file; then `digest`, or `drop` where nobody wants it any more.
// A thread that dies fails the hashes it had under way; the next hash begins another one.

import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { NodeError } from '../../errors.ts'
import { SideThread } from '../../files/small/side-thread.ts'
import { LengthWalk } from '../transforms/record-walk.ts'
import type { Digest } from '../transports/transport.ts'
import type { FromHashThread, ToHashThread } from './hash-messages.ts'

/** A file that is longer is worth a thread. */
const SMALL = 1024 * 1024
const PIECE = 1024 * 1024
/** Under way in one file. */
const PIECES = 4
const MOST_THREADS = Math.min(4, availableParallelism() - 1)
// Beside this file as a source, beside the file this one was joined into (tools/bundle.mjs) as JavaScript.
const WORKER = new URL(import.meta.url.endsWith('.ts') ? 'hash-worker.ts' : 'hash-worker.js', import.meta.url)

class HashThread {
  readonly hashes = new Map<number, ThreadHash>()
  readonly #thread = new SideThread<ToHashThread, FromHashThread>(WORKER, {
    heard: (message) => {
      const hash = this.hashes.get(message.id)
      if (message.kind === 'piece done') hash?.pieceDone(message.memory)
      else hash?.hashed(message.hex)
    },
    over: (cause) => this.#over(cause),
  })

  add(id: number, hash: ThreadHash): void {
    this.#thread.isNeeded()
    this.hashes.set(id, hash)
  }

  remove(id: number): void {
    this.hashes.delete(id)
    if (this.hashes.size === 0) this.#thread.isIdle()
  }

  say(message: ToHashThread, transfer: ArrayBuffer[] = []): void {
    this.#thread.say(message, transfer)
  }

  #over(cause: Error | undefined): void {
    threads.delete(this)
    const error = new NodeError('internal', 'the thread that hashed the file died', { cause })
    for (const hash of this.hashes.values()) hash.failed(error)
    this.hashes.clear()
  }
}

const threads = new Set<HashThread>()
let last = 0

/** The one with the least to do, or a new one while there may be more. */
function threadFor(): HashThread {
  const [idlest] = [...threads].toSorted((a, b) => a.hashes.size - b.hashes.size)
  if (idlest && (idlest.hashes.size === 0 || threads.size >= MOST_THREADS)) return idlest
  const made = new HashThread()
  threads.add(made)
  return made
}

/** One file's hash, or several hashes of the same octets. */
export class ThreadHash {
  readonly #id = ++last
  readonly #thread = threadFor()
  readonly #hex = Promise.withResolvers<string[]>()
  #free: ArrayBuffer[] = []
  #made = 0
  #filling: { memory: ArrayBuffer; used: number } | undefined
  #waiting: { resolve: () => void; reject: (error: NodeError) => void } | undefined
  #error: NodeError | undefined
  #ended = false

  constructor(digests: readonly Digest[]) {
    this.#hex.promise.catch(() => {}) // met by `digest`, or by nobody
    this.#thread.add(this.#id, this)
    this.#thread.say({ kind: 'begin', id: this.#id, digests })
  }

  /** The octets are copied at once. Resolves when more may be brought: one call after the other. */
  async update(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      if (this.#error) throw this.#error
      if (this.#ended) return
      const filling = (this.#filling ??= { memory: await this.#piece(), used: 0 })
      const part = bytes.subarray(at, at + PIECE - filling.used)
      new Uint8Array(filling.memory).set(part, filling.used)
      filling.used += part.length
      at += part.length
      if (filling.used === PIECE) this.#send()
    }
  }

  /** In hex, in the order in which they were asked for. Once. */
  async digest(): Promise<string[]> {
    if (this.#error) throw this.#error
    this.#send()
    this.#ended = true
    this.#thread.say({ kind: 'end', id: this.#id })
    return this.#hex.promise
  }

  /** Nobody wants it any more. What is still brought goes nowhere. */
  drop(): void {
    if (this.#ended) return
    this.#ended = true
    this.#thread.say({ kind: 'forget', id: this.#id })
    this.#thread.remove(this.#id)
    this.#waiting?.resolve()
    this.#waiting = undefined
  }

  async #piece(): Promise<ArrayBuffer> {
    const known = this.#free.pop()
    if (known) return known
    if (this.#made < PIECES || this.#ended) {
      this.#made++
      return new ArrayBuffer(PIECE)
    }
    await new Promise<void>((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
    return this.#piece()
  }

  #send(): void {
    const filling = this.#filling
    this.#filling = undefined
    if (!filling || filling.used === 0 || this.#ended) return
    const { memory, used: length } = filling
    this.#thread.say({ kind: 'piece', id: this.#id, memory, length }, [memory])
  }

  pieceDone(memory: ArrayBuffer): void {
    this.#free.push(memory)
    this.#waiting?.resolve()
    this.#waiting = undefined
  }

  hashed(hex: string[]): void {
    this.#thread.remove(this.#id)
    this.#hex.resolve(hex)
  }

  failed(error: NodeError): void {
    this.#error = error
    this.#ended = true
    this.#hex.reject(error)
    this.#waiting?.reject(error)
    this.#waiting = undefined
  }
}

/** The hash of a file whose size nobody knows yet: its first octets are kept, and hashed here if no more come. */
export class FileHash {
  readonly #digests: readonly Digest[]
  #held: Uint8Array[] = []
  #length = 0
  #further: ThreadHash | Hash[] | undefined
  #dropped = false

  constructor(digests: readonly Digest[]) {
    this.#digests = digests
  }

  /** The octets are copied at once. Resolves when more may be brought: one call after the other. */
  async update(bytes: Uint8Array): Promise<void> {
    if (this.#dropped) return
    this.#length += bytes.length
    // Not `slice`: that of a Buffer is the same memory.
    if (this.#length <= SMALL) return void this.#held.push(new Uint8Array(bytes))
    const pieces = [...this.#held.splice(0), bytes]
    const further = (this.#further ??= MOST_THREADS > 0 ? new ThreadHash(this.#digests) : this.#here())
    for (const piece of pieces)
      if (further instanceof ThreadHash) await further.update(piece)
      else for (const hash of further) hash.update(piece)
  }

  /** In hex, in the order in which they were asked for. Once. */
  async digest(): Promise<string[]> {
    if (this.#further instanceof ThreadHash) return this.#further.digest()
    const hashes = this.#further ?? this.#here()
    for (const piece of this.#held) for (const hash of hashes) hash.update(piece)
    return hashes.map((hash) => hash.digest('hex'))
  }

  drop(): void {
    this.#dropped = true
    if (this.#further instanceof ThreadHash) this.#further.drop()
  }

  #here(): Hash[] {
    return this.#digests.map((digest) => createHash(digest))
  }
}

/** The hash of what V records hold, as it is brought behind the lengths of the records. */
export class RecordHash extends FileHash {
  readonly #lengths = new LengthWalk()

  override update(bytes: Uint8Array): Promise<void> {
    return super.update(this.#lengths.strip(bytes))
  }
}
