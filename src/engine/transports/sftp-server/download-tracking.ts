// What a partner has read of the files in `out`, over all its connections: a file counts as taken when every octet of
// it was read and the file closed. A broken connection proves nothing of what it carried, until the client comes back
// and reads on from a position: then it holds what lies before.
//
// State, for each file that was opened: the octets proven to be at the partner (`proven`), and those sent on connections
// that broke (`sent`). Beside it the names that were taken a moment ago.
// Moves: a connection opens a `Reading`, reports that by `opened` and its end by `closed` or `lost`. `closed` proves what
// was read, and takes the file when that is all of it. `lost` proves nothing, but remembers what was sent.
// Callers: the file sessions of one partner share one object. It lives as long as `isEmpty` is false or one of them does.

import type { Outbox, OutgoingEntry, OutgoingFile } from '../outbox.ts'
import { ByteRanges } from './byte-ranges.ts'

const MOST_FILES = 5000
/** A file as small as this is read while the client is still told that it is open: it asks for it next. */
const READ_AHEAD = 64 * 1024

interface Progress {
  proven: ByteRanges
  /** Sent on connections that broke. */
  sent: ByteRanges
}

/** An entry open for reading on one channel. */
export class Reading {
  readonly application: string
  readonly entry: OutgoingEntry
  readonly file: OutgoingFile
  readonly ranges = new ByteRanges()
  first: number | undefined
  readonly #ahead: Promise<Uint8Array> | undefined
  #tail: Promise<unknown> = Promise.resolve()

  constructor(application: string, entry: OutgoingEntry, file: OutgoingFile) {
    this.application = application
    this.entry = entry
    this.file = file
    if (entry.size > READ_AHEAD) return
    this.#ahead = this.#readAll(entry.size)
    // Whoever reads hears of it.
    this.#ahead.catch(() => {})
  }

  async #readAll(size: number): Promise<Uint8Array> {
    const all = Buffer.allocUnsafe(size)
    return all.subarray(0, await this.#fill(all, 0))
  }

  /** One read after the other: a client that reads in order makes the engine read in order. */
  inTurn(work: () => Promise<void>): Promise<void> {
    const run = this.#tail.then(work)
    this.#tail = run.catch(() => {})
    return run
  }

  left(position: number): number {
    return Math.max(0, this.entry.size - position)
  }

  /** Octets read, fewer than asked for only where the file ends. */
  async read(into: Uint8Array, position: number): Promise<number> {
    this.first ??= position
    const got = this.#ahead ? copyFrom(await this.#ahead, position, into) : await this.#fill(into, position)
    this.ranges.add(position, position + got)
    return got
  }

  async #fill(into: Uint8Array, position: number): Promise<number> {
    let got = 0
    while (got < into.length) {
      const more = await this.file.read(into.subarray(got), position + got)
      if (more === 0) break
      got += more
    }
    return got
  }

  settled(): Promise<unknown> {
    return this.#tail
  }

  /** Nobody waits for it: what was read is read. */
  close(): void {
    const ended = Promise.allSettled([this.#tail, this.#ahead])
    void ended.then(() => this.file.close()).catch(() => {})
  }
}

function copyFrom(all: Uint8Array, position: number, into: Uint8Array): number {
  const some = all.subarray(position, position + into.length)
  into.set(some)
  return some.length
}

const textKey = (channel: string, name: string) => `${channel}/${name}`

export class DownloadTracking {
  readonly #progress = new Map<string, Progress>()
  /** By channel and name: whether the client has removed what it took. */
  readonly #taken = new Map<string, 'read' | 'removed'>()

  /** Whether anything would be forgotten if this object were. */
  get isEmpty(): boolean {
    return this.#progress.size === 0 && this.#taken.size === 0
  }

  opened({ entry }: Reading): void {
    this.#of(entry.id)
  }

  /** The client has closed the file. Resolves when a taken file is recorded as such. */
  async closed(outbox: Outbox, reading: Reading): Promise<void> {
    await reading.settled()
    reading.close()
    const { entry, application } = reading
    const progress = this.#of(entry.id)
    progress.proven.addAll(reading.ranges)
    if (reading.first !== undefined && progress.sent.covers(0, reading.first))
      progress.proven.add(0, reading.first)
    if (reading.first === undefined || !progress.proven.covers(0, entry.size)) return
    await this.#take(outbox, application, entry)
    this.#progress.delete(entry.id)
  }

  /** Remembered before it is gone: a removal sent behind the close may already find the next file of that name. */
  async #take(outbox: Outbox, application: string, entry: OutgoingEntry): Promise<void> {
    const key = textKey(entry.channel, entry.name)
    const before = this.#taken.get(key)
    this.#remember(key)
    try {
      await outbox.taken(application, entry, 'read')
    } catch (thrown) {
      if (before === undefined) this.#taken.delete(key)
      else this.#taken.set(key, before)
      throw thrown
    }
  }

  async lost(reading: Reading): Promise<void> {
    await reading.settled()
    const progress = this.#of(reading.entry.id)
    progress.sent.addAll(progress.proven)
    progress.sent.addAll(reading.ranges)
    reading.close()
  }

  /**
   * A client that reads a file and then removes it must not be told that the file is gone already. `channels`: those that
   * the session reaches under the application; what another session has taken is not told.
   */
  removedWhatItTook(channels: readonly string[], name: string): boolean {
    const keys = channels.map((one) => textKey(one, name)).filter((one) => this.#taken.has(one))
    for (const key of keys) this.#taken.set(key, 'removed')
    return keys.length > 0
  }

  /**
   * A client that has read a file and removes it then means that one. It went when it was closed, and another may have come
   * under its name since, of the same channel or another, which nobody has opened: that one stays. The next removal means it.
   */
  async removed(outbox: Outbox, application: string, entry: OutgoingEntry): Promise<void> {
    const channels = await outbox.channels(application)
    const read = channels
      .map((one) => textKey(one, entry.name))
      .filter((one) => this.#taken.get(one) === 'read')
    if (read.length > 0 && !this.#progress.has(entry.id)) {
      for (const key of read) this.#taken.set(key, 'removed')
      return
    }
    await outbox.taken(application, entry, 'removed')
    this.#progress.delete(entry.id)
  }

  #of(id: string): Progress {
    let progress = this.#progress.get(id)
    if (progress === undefined) {
      progress = { proven: new ByteRanges(), sent: new ByteRanges() }
      this.#progress.set(id, progress)
      if (this.#progress.size > MOST_FILES) dropOldest(this.#progress)
    }
    return progress
  }

  #remember(key: string): void {
    // Anew at the end: the oldest is dropped first.
    this.#taken.delete(key)
    this.#taken.set(key, 'read')
    if (this.#taken.size > MOST_FILES) dropOldest(this.#taken)
  }
}

function dropOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
