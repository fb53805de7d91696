// Stream transmission buffers (RFC 5024, 8): a 4-octet header in front of each exchange buffer on TCP.
//
// The parser is fed socket chunks and gives exchange buffers. One that lies whole in a chunk is given as a view of it;
// one that spans chunks is gathered in a buffer that `allocate` lends, so that DATA can be gathered where it is decoded.
import { fault } from '../protocol/reasons.ts'

/** Header 4 + the largest exchange buffer that can be negotiated. */
export const LARGEST_STREAM_BUFFER = 100_003

const HEADER = 4

/** A header without an exchange buffer. */
export const EMPTY_STREAM_BUFFER: Uint8Array = Uint8Array.of(0x10, 0, 0, HEADER)

export function writeStreamHeader(into: Uint8Array, at: number, length: number): void {
  into[at] = 0x10
  into[at + 1] = length >>> 16
  into[at + 2] = length >>> 8
  into[at + 3] = length
}

export class StreamBuffers {
  /** The largest stream buffer taken; small until the partner is known, so that a stranger cannot make us gather. */
  largest = LARGEST_STREAM_BUFFER
  /** Where an exchange buffer of this length is gathered. It must stay untouched until `next` is called again. */
  allocate: (length: number) => Uint8Array = (length) => new Uint8Array(length)
  /** A header without an exchange buffer came. */
  empty: () => void = () => undefined

  readonly #chunks: Uint8Array[] = []
  #at = 0
  #taken = 0
  readonly #header = new Uint8Array(HEADER)
  #headerFill = 0
  #body: Uint8Array | undefined
  #bodyFill = 0

  push(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#chunks.push(chunk)
  }

  /** The last chunk's memory is somebody else's again: what is left of it is copied. */
  keepRest(): void {
    const last = this.#chunks.length - 1
    const chunk = this.#chunks[last]
    if (chunk === undefined) return
    this.#chunks[last] = new Uint8Array(chunk.subarray(last === 0 ? this.#at : 0))
    if (last === 0) this.#at = 0
  }

  /** Octets of exchange buffers that were taken so far. Headers do not count: a partner that says nothing can send them for ever. */
  get taken(): number {
    return this.#taken
  }

  /** Octets that came in and were not yet given out, for limits. */
  get buffered(): number {
    let total = this.#bodyFill - this.#at
    for (const chunk of this.#chunks) total += chunk.length
    return total
  }

  /** The next exchange buffer, or undefined until more octets come. */
  next(): Uint8Array | undefined {
    for (;;) {
      if (this.#body === undefined) {
        const length = this.#readHeader()
        if (length === undefined) return undefined
        const whole = this.#takeWhole(length)
        if (whole !== undefined) return whole
        this.#body = this.allocate(length)
        this.#bodyFill = 0
      }
      const body = this.#body
      if (!this.#gather(body)) return undefined
      this.#body = undefined
      this.#bodyFill = 0
      return body
    }
  }

  /** Length of the exchange buffer to come. Header-only buffers (some peers send one when they close) are only told of. */
  #readHeader(): number | undefined {
    for (;;) {
      while (this.#headerFill < HEADER) {
        const chunk = this.#chunks[0]
        if (chunk === undefined) return undefined
        this.#header[this.#headerFill] = chunk[this.#at] ?? 0
        this.#headerFill += 1
        this.#advance(chunk, 1)
      }
      this.#headerFill = 0
      const [first = 0, high = 0, middle = 0, low = 0] = this.#header
      if (first !== 0x10) throw fault('01', `not a stream transmission header: first octet ${first}`)
      const length = (high << 16) | (middle << 8) | low
      if (length < HEADER || length > this.largest) throw fault('07', `a stream buffer of ${length} octets`)
      if (length > HEADER) return length - HEADER
      this.empty()
    }
  }

  #takeWhole(length: number): Uint8Array | undefined {
    const chunk = this.#chunks[0]
    if (chunk === undefined || chunk.length - this.#at < length) return undefined
    const view = chunk.subarray(this.#at, this.#at + length)
    this.#taken += length
    this.#advance(chunk, length)
    return view
  }

  #gather(body: Uint8Array): boolean {
    while (this.#bodyFill < body.length) {
      const chunk = this.#chunks[0]
      if (chunk === undefined) return false
      const count = Math.min(body.length - this.#bodyFill, chunk.length - this.#at)
      body.set(chunk.subarray(this.#at, this.#at + count), this.#bodyFill)
      this.#bodyFill += count
      this.#taken += count
      this.#advance(chunk, count)
    }
    return true
  }

  #advance(chunk: Uint8Array, count: number): void {
    this.#at += count
    if (this.#at < chunk.length) return
    this.#chunks.shift()
    this.#at = 0
  }
}
