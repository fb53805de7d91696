// Going through a stream record by record, wherever its blocks happen to cut. Each walk serves one stream.

import { refuseRecord, type RecordForm } from './record-forms.ts'

export type Put = (data: Buffer, start: number, end: number) => void

/** Goes through a stream record by record, keeping the beginning of the one that the last block did not end. */
export class RecordWalk {
  records = 0
  readonly #form: RecordForm
  readonly #span = { start: 0, end: 0, next: 0 }
  #rest: Buffer = Buffer.alloc(0)

  constructor(form: RecordForm) {
    this.#form = form
  }

  take(block: Buffer, put: Put): void {
    const data = this.#rest.length === 0 ? block : Buffer.concat([this.#rest, block])
    const span = this.#span
    let at = 0
    while (at < data.length && this.#form.find(data, at, span, this.records + 1)) {
      this.records++
      put(data, span.start, span.end)
      at = span.next
    }
    this.#rest = data.subarray(at)
  }

  end(put: Put): void {
    if (this.#rest.length === 0) return
    this.#form.findLast(this.#rest, 0, this.#span, this.records + 1)
    this.records++
    put(this.#rest, this.#span.start, this.#span.end)
  }
}

/** Finds the 2-octet lengths of V records, wherever blocks cut them. */
export class LengthWalk {
  #number = 0
  /** The first octet of a length whose second one is in the next block. */
  #high = -1
  #left = 0

  restore(block: Buffer, out: Buffer): void {
    let at = this.#left
    while (at < block.length) {
      const octet = block[at]!
      out[at++] = octet
      if (this.#high < 0) {
        this.#high = octet
        this.#number++
        continue
      }
      at += this.#high * 256 + octet
      this.#high = -1
    }
    this.#left = at - block.length
  }

  /** A copy of the block without the lengths. */
  strip(block: Uint8Array): Uint8Array {
    const from = Buffer.from(block.buffer, block.byteOffset, block.length)
    const out = Buffer.allocUnsafeSlow(block.length)
    let used = 0
    for (let at = 0; at < block.length;) {
      const copied = from.copy(out, used, at, at + this.#left)
      used += copied
      at += copied
      this.#left -= copied
      const octet = from[at++]
      if (octet === undefined) break
      if (this.#high < 0) {
        this.#high = octet
        this.#number++
      } else {
        this.#left = this.#high * 256 + octet
        this.#high = -1
      }
    }
    return out.subarray(0, used)
  }

  end(): void {
    if (this.#left > 0 || this.#high >= 0) throw refuseRecord(this.#number, 'the file ends inside it')
  }
}
