// What a client has open on one SFTP channel: files on their way in, files being read, folders being listed. Each is
// known to the client by four octets.

import { NodeError } from '../../../errors.ts'
import type { Attrs } from '../ssh/sftp-packet.ts'
import { Reading } from './download-tracking.ts'
import { HandedOver } from './inbox.ts'
import { ReadBack, Upload } from './upload.ts'

export type Listing = { entries: { name: string; attrs: Attrs }[] }
export type Handle = Upload | ReadBack | HandedOver | Reading | Listing

export class Handles {
  readonly #open = new Map<number, Handle>()
  readonly #most: number
  #next = 1

  constructor(most: number) {
    this.#most = most
  }

  requireRoom(): void {
    if (this.#open.size >= this.#most) throw new NodeError('too_many', 'too many files are open')
  }

  add(handle: Handle): Buffer {
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

  upload(written: Buffer): Upload {
    const handle = this.find(written)
    if (handle instanceof HandedOver) throw new NodeError('forbidden', 'the file was handed over already')
    if (!(handle instanceof Upload)) throw refused()
    return handle
  }

  readable(written: Buffer): Upload | Reading {
    const handle = this.find(written)
    if (handle instanceof ReadBack) return handle.upload
    if (handle instanceof Upload || handle instanceof Reading) return handle
    throw refused()
  }

  /** Takes it away, and answers with it. */
  close(written: Buffer): Handle {
    const handle = this.find(written)
    this.#open.delete(written.readUInt32BE(0))
    return handle
  }

  /** Takes all away; answers with the files that were being read. */
  closeAll(): Reading[] {
    const readings = [...this.#open.values()].filter((handle) => handle instanceof Reading)
    this.#open.clear()
    return readings
  }
}

export const refused = () => new NodeError('forbidden', 'not allowed here')
