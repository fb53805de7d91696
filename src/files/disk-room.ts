// The room on a disk that partners' files must leave free. Asking the file system for every block would cost more than
// writing it, so it is asked now and then, as octets are written.

import { statfs } from 'node:fs/promises'
import { NodeError } from '../errors.ts'

const EVERY_OCTETS = 16 * 1024 * 1024
const EVERY_MS = 1000

export class DiskRoom {
  readonly #folder: string
  readonly #reserve: number
  #written = EVERY_OCTETS
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(folder: string, reserveOctets: number) {
    this.#folder = folder
    this.#reserve = reserveOctets
  }

  /** Throws no_space where `octets` more would take of the reserve. */
  async require(octets: number): Promise<void> {
    if (this.#reserve === 0) return
    const { bavail, bsize } = await statfs(this.#folder)
    if (bavail * bsize - octets < this.#reserve)
      throw new NodeError('no_space', `less than ${this.#reserve} octets would be left on the disk`)
  }

  /** Octets are about to be written. The first are looked at, then those after every 16 MiB and every second. */
  wrote(octets: number): Promise<void> | undefined {
    this.#written += octets
    const now = performance.now()
    if (this.#written < EVERY_OCTETS && now - this.#lookedAt < EVERY_MS) return undefined
    return this.#look(octets, now)
  }

  async #look(octets: number, now: number): Promise<void> {
    // Where there is too little, the next octets look again.
    await this.require(octets)
    this.#written = 0
    this.#lookedAt = now
  }

  /** A step of a pipeline that ends it when room gets short. */
  readonly step = async function* (
    this: DiskRoom,
    source: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      await this.wrote(chunk.length)
      yield chunk
    }
  }.bind(this)
}
