// Cuts the bytes of an SFTP channel into packets. A packet that lies whole in one piece is handed on as a view;
// otherwise it is gathered in a buffer of its own, large ones from a pool, so that a long transfer does not allocate
// 256 KiB per request.

import { NodeError } from '../../../errors.ts'

import { BufferPool } from './buffer-pool.ts'
import { takeBack } from './packet-memory.ts'
import { MAX_PACKET } from './sftp-packet.ts'

export class PacketSplitter {
  readonly #maxLength: number
  readonly #pool = new BufferPool({ smallest: 64 * 1024, size: MAX_PACKET, mostFree: 16 })
  #lengthBytes = 0
  #length = 0
  #packet: Buffer | undefined
  #filled = 0

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  /** A packet has begun to arrive and is not whole yet. */
  get inMiddle(): boolean {
    return this.#lengthBytes > 0
  }

  push(chunk: Buffer, take: (packet: Buffer) => void): void {
    let at = 0
    let viewed = false
    while (at < chunk.length) {
      if (this.#lengthBytes < 4) {
        this.#length = this.#length * 256 + (chunk[at++] ?? 0)
        if (++this.#lengthBytes === 4) this.#checkLength()
        continue
      }
      const wanted = this.#length - this.#filled
      const given = Math.min(wanted, chunk.length - at)
      if (this.#packet === undefined && given === this.#length) {
        const whole = chunk.subarray(at, at + given)
        at += given
        viewed = true
        this.#reset()
        take(whole)
        continue
      }
      this.#packet ??= this.#pool.lend(this.#length)
      this.#packet.set(chunk.subarray(at, at + given), this.#filled)
      this.#filled += given
      at += given
      if (given === wanted) {
        const whole = this.#packet
        this.#reset()
        take(whole)
      }
    }
    if (!viewed) takeBack(chunk)
  }

  /** Gives a packet's memory back once nobody looks at it any more. */
  recycle(packet: Buffer): void {
    this.#pool.giveBack(packet)
  }

  #checkLength(): void {
    if (this.#length >= 1 && this.#length <= this.#maxLength) return
    throw new NodeError('protocol_violation', `an SFTP packet announces ${this.#length} octets`)
  }

  #reset(): void {
    this.#lengthBytes = 0
    this.#length = 0
    this.#packet = undefined
    this.#filled = 0
  }
}
