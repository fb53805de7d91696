// One file that a partner is dropping, from open to hand-over. Writes go to the engine one after the other in the
// order they came, whatever their positions; the octets that are there are kept as spans, and a file with a gap is
// never handed over.
//
// open     a handle writes to it                   -> closed, over
// closed   under a temporary name, waits for rename -> open, over
// over     handed over or abandoned

import { NodeError } from '../../../errors.ts'
import type { Incoming } from '../transport.ts'

import { ByteRanges } from './byte-ranges.ts'

/** What a client is shown of a file. */
export interface Look {
  size: number
  mtime: number
}

export class Upload {
  /** The code of the channel that takes it, and what the client calls that. */
  readonly channel: string
  readonly application: string
  readonly incoming: Incoming
  readonly ranges = new ByteRanges()
  /** The name the client uses now. */
  name: string
  /** The session it came by: when that ends before the file is handed over, the file is kept for another one. */
  owner: object
  state: 'open' | 'closed' | 'over' = 'open'
  mtime = Math.floor(Date.now() / 1000)
  /** The size a client announced ahead of its data, or cut the file to. */
  announced: number | undefined
  /** Opened to be written at its end, whatever position a write names. */
  appends = false
  #tail: Promise<void> = Promise.resolve()
  #failure: unknown
  #cutShort = false

  constructor(about: {
    channel: string
    application: string
    name: string
    incoming: Incoming
    owner: object
  }) {
    this.channel = about.channel
    this.application = about.application
    this.name = about.name
    this.incoming = about.incoming
    this.owner = about.owner
    this.ranges.add(0, about.incoming.position)
  }

  /** What a client may skip when it goes on: octets from the start without a gap. */
  get safeSize(): number {
    return this.ranges.prefix
  }

  write(bytes: Uint8Array, position: number): Promise<void> {
    return this.#next(async () => {
      // A client that goes on beyond the end believes more to be here than is: the gap it leaves must show.
      const at = this.appends ? Math.max(position, this.ranges.end) : position
      await this.incoming.write(bytes, at)
      if (!this.ranges.add(at, at + bytes.length))
        throw new NodeError('protocol_violation', 'the file is written in too many separate pieces')
      this.mtime = Math.floor(Date.now() / 1000)
      this.#cutShort = false
    })
  }

  // A client reads back what it has sent, to compare it before it goes on or gives the file its name.

  left(position: number): number {
    return Math.max(0, this.safeSize - position)
  }

  read(into: Uint8Array, position: number): Promise<number> {
    return this.incoming.read(into, position)
  }

  async inTurn(work: () => Promise<void>): Promise<void> {
    await this.settled()
    await work()
  }

  /**
   * A client sets the size: longer announces what is still to come; shorter cuts, as clients do that give up, or that go on
   * from there: those write more.
   */
  resize(length: number): Promise<void> {
    return this.#next(async () => {
      this.announced = length
      if (length >= this.ranges.end) return
      this.#cutShort = length > 0
      await this.incoming.truncate(length)
      this.ranges.cut(length)
    })
  }

  /** Resolves when every write before it is done; throws what the first failed one threw. */
  async settled(): Promise<void> {
    await this.#tail
    this.#check()
  }

  /** Resolves when every write before it has been done or has failed. */
  written(): Promise<void> {
    return this.#tail
  }

  /** Throws what a write before has thrown. */
  #check(): void {
    if (this.state === 'over')
      throw new NodeError('conflict', 'the file was taken over by another connection')
    if (this.#failure !== undefined) throw this.#failure
  }

  get isWhole(): boolean {
    const size = this.ranges.end
    return (
      !this.#cutShort &&
      this.ranges.prefix === size &&
      (this.announced === undefined || this.announced <= size)
    )
  }

  /** Leaves to a later connection exactly what a client will be told is there. */
  async keep(reason: unknown): Promise<number> {
    await this.#tail
    const size = this.#failure === undefined ? this.safeSize : 0
    try {
      if (size < this.ranges.end) await this.incoming.truncate(size)
    } finally {
      await this.incoming.abandon(reason, size > 0)
    }
    return size
  }

  /** What came before the file was left or taken over is still done: it was promised to the client. */
  #next(work: () => Promise<void>): Promise<void> {
    this.#check()
    const run = this.#tail.then(async () => {
      if (this.#failure !== undefined) throw this.#failure
      await work()
    })
    this.#tail = run.catch((error: unknown) => {
      this.#failure ??= error
    })
    return run
  }
}

/** One that was closed, opened once more to be read back. Closing it again changes nothing. */
export class ReadBack {
  readonly upload: Upload
  constructor(upload: Upload) {
    this.upload = upload
  }
}

/**
 * A file opened again after it was handed over, by a client that did not ask for it to be cut to nothing. One whose line
 * broke before it heard that its file was taken asks for the size, has nothing left to send, and closes: that changes
 * nothing. Others (scp) write the next file of that name in this way, from its start; where it is empty, they only set
 * the size. What is neither is refused, and so is everything after it: a client may believe that the rest was taken.
 */
export class HandedOver {
  readonly application: string
  readonly name: string
  readonly look: Look
  /** The size that a client announced, in case that it writes. */
  announced: number | undefined
  readonly #appends: boolean
  #refused = false
  #anew: Promise<Upload> | undefined

  constructor({ application, name }: { application: string; name: string }, look: Look, appends: boolean) {
    this.application = application
    this.name = name
    this.look = look
    this.#appends = appends
  }

  /** Whether what is set says no more than that the file is there. An empty one may be the next: nothing else comes of it. */
  isUnchangedBy({ size }: { size?: number | undefined }): boolean {
    if (this.#anew !== undefined || (size !== undefined && (size === 0 || size !== this.look.size)))
      return false
    this.announced = size ?? this.announced
    return true
  }

  /** The next file of that name, for a request that begins one, or that comes when it is begun. */
  next(begins: boolean, open: () => Promise<Upload>): Promise<Upload> {
    if (this.#anew === undefined && (!begins || this.#appends)) this.#refused = true
    this.#check()
    return (this.#anew ??= open())
  }

  /** Undefined: none was begun. */
  get begun(): Promise<Upload> | undefined {
    return this.#anew
  }

  /** The one that was begun, to be closed; undefined where none was, and nothing refused. */
  async closed(): Promise<Upload | undefined> {
    this.#check()
    return this.#anew
  }

  #check(): void {
    if (this.#refused) throw new NodeError('forbidden', 'the file was handed over already')
  }
}
