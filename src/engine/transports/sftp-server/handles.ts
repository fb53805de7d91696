// What a client has open on one SFTP channel: files on their way in, files being read, folders being listed. Each is
// known to the client by four octets.

import { NodeError } from '../../../errors.ts'
import type { Attrs } from '../ssh/sftp-packet.ts'
import { Reading } from './download-tracking.ts'
import { HandedOver, ReadBack, Upload } from './upload.ts'

export type Listing = { entries: { name: string; attrs: Attrs }[] }
export type Handle = Upload | ReadBack | HandedOver | Reading | Listing

const tooMany = () => new NodeError('too_many', 'too many files and folders are open')

/**
 * What a partner has open over all its connections. Each open file is a descriptor of this node and some memory, and each
 * open folder has the entries that were not read yet: without a bound one partner could leave none for the others.
 */
export class HandleRoom {
  readonly #most: { handles: number; entries: number }
  #handles = 0
  #entries = 0

  constructor(most: { handles: number; entries: number }) {
    this.#most = most
  }

  take(): void {
    if (this.#handles >= this.#most.handles) throw tooMany()
    this.#handles++
  }

  giveBack(): void {
    this.#handles--
  }

  takeEntries(count: number): void {
    // One folder may always be listed, however long it is.
    if (this.#entries > 0 && this.#entries + count > this.#most.entries) throw tooMany()
    this.#entries += count
  }

  giveBackEntries(count: number): void {
    this.#entries -= count
  }
}

export class Handles {
  readonly #open = new Map<number, Handle>()
  readonly #most: number
  readonly #room: HandleRoom
  /** Open ones, and those that the engine is still asked about: many requests may come at once. */
  #taken = 0
  #next = 1

  constructor(most: number, room: HandleRoom) {
    this.#most = most
    this.#room = room
  }

  /** Opens something, if there is room for it. Nothing came of it where it answers with undefined. */
  async add(open: () => Promise<Handle | undefined>): Promise<Buffer | undefined> {
    if (this.#taken >= this.#most) throw tooMany()
    this.#room.take()
    this.#taken++
    let handle: Handle | undefined
    try {
      handle = await open()
      if (handle && 'entries' in handle) this.#room.takeEntries(handle.entries.length)
    } catch (thrown) {
      this.#giveBack()
      throw thrown
    }
    if (handle !== undefined) return this.#number(handle)
    this.#giveBack()
    return undefined
  }

  #giveBack(): void {
    this.#taken--
    this.#room.giveBack()
  }

  #number(handle: Handle): Buffer {
    const number = this.#next++
    this.#open.set(number, handle)
    const written = Buffer.allocUnsafe(4)
    written.writeUInt32BE(number)
    return written
  }

  find(written: Buffer): Handle {
    const handle = written.length === 4 ? this.#open.get(written.readUInt32BE(0)) : undefined
    if (handle === undefined) throw new NodeError('conflict', 'no such handle')
    return handle
  }

  writable(written: Buffer): Upload | HandedOver {
    const handle = this.find(written)
    if (!(handle instanceof Upload || handle instanceof HandedOver)) throw refused()
    return handle
  }

  readable(written: Buffer): Upload | Reading {
    const handle = this.find(written)
    if (handle instanceof ReadBack) return handle.upload
    if (handle instanceof Upload || handle instanceof Reading) return handle
    throw refused()
  }

  /** The next entries of a folder. */
  entries(written: Buffer, most: number): Listing['entries'] {
    const handle = this.find(written)
    if (!('entries' in handle)) throw refused()
    const batch = handle.entries.splice(0, most)
    this.#room.giveBackEntries(batch.length)
    return batch
  }

  /** Takes it away, and answers with it. */
  close(written: Buffer): Handle {
    const handle = this.find(written)
    this.#open.delete(written.readUInt32BE(0))
    this.#forget(handle)
    return handle
  }

  #forget(handle: Handle): void {
    if ('entries' in handle) this.#room.giveBackEntries(handle.entries.length)
    this.#giveBack()
  }

  /** Takes all away; answers with the files that were being read. */
  closeAll(): Reading[] {
    const all = [...this.#open.values()]
    this.#open.clear()
    for (const handle of all) this.#forget(handle)
    return all.filter((handle) => handle instanceof Reading)
  }
}

export const refused = () => new NodeError('forbidden', 'not allowed here')
