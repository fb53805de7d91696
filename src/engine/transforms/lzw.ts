// LZW with framing of our own, streamed: "ELZW", version 1, then codes of 9 to 16 bits packed from the low bit up, the
// end code, and the CRC-32 of the content (little-endian). A stream of anything else fails on its first octets.
//
// The n-th code since the tables were last empty is at most 256 + n, which alone decides its width; when no 16-bit
// code is left both ends empty their tables at the same place. So there is no clear code, and memory is constant.
//
// Nodes only read it: earlier versions sent it. The other end is in test/support/lzw-compress.ts.

import { crc32 } from 'node:zlib'
import { NodeError } from '../../errors.ts'
import { OutputGuard, type OutputLimit } from './output-limit.ts'
import { blocks, type Step } from './step.ts'

/** How every such stream begins. */
export const LZW_MARK = Buffer.from('ELZW\x01', 'latin1')
const END = 256
const FIRST = 257
const LAST = 65_535

/** Room for the longest string a full table can spell, and then some. */
const OUT_OCTETS = 256 * 1024

export function lzwExpand(limit: OutputLimit = {}): Step {
  return async function* expanded(source) {
    const guard = new OutputGuard(limit)
    const expander = new Expander()
    let crc = 0
    let started = false
    for await (const block of blocks(source)) {
      if (!started && !block.subarray(0, LZW_MARK.length).equals(LZW_MARK))
        throw broken('it does not begin as one')
      let at = started ? 0 : LZW_MARK.length
      started = true
      guard.took(block.length)
      while (at < block.length) {
        at = expander.take(block, at)
        const piece = expander.drain()
        if (piece.length === 0) continue
        guard.made(piece.length)
        crc = crc32(piece, crc)
        yield piece
      }
    }
    if (!started) throw broken('it is empty')
    if (expander.trailer.length !== 4) throw broken('it ends too early')
    if (Buffer.from(expander.trailer).readUInt32LE() !== crc)
      throw broken('the content does not match its checksum')
  }
}

function broken(what: string): NodeError {
  return new NodeError('bad_envelope', `the LZW stream does not open: ${what}`)
}

function widthOf(n: number): number {
  return 32 - Math.clz32(END + n)
}

class Expander {
  /** What followed the end code; four octets in a whole stream. */
  readonly trailer: number[] = []
  readonly #prefixes = new Uint16Array(LAST + 1)
  readonly #octets = new Uint8Array(LAST + 1)
  readonly #firsts = new Uint8Array(LAST + 1)
  readonly #lengths = new Uint32Array(LAST + 1)
  #out = Buffer.allocUnsafeSlow(OUT_OCTETS)
  #used = 0
  #n = 0
  #previous = -1
  #bits = 0
  #bitCount = 0
  #ended = false

  constructor() {
    for (let octet = 0; octet < 256; octet++) {
      this.#octets[octet] = octet
      this.#firsts[octet] = octet
      this.#lengths[octet] = 1
    }
  }

  /** Reads from `at` until the block is used up or the output is nearly full; returns how far it came. */
  take(block: Buffer, at: number): number {
    while (at < block.length && this.#used < OUT_OCTETS - LAST - 1) {
      if (this.#ended) {
        if (this.trailer.length === 4) throw broken('octets follow its end')
        this.trailer.push(block[at++]!)
        continue
      }
      this.#bits |= block[at++]! << this.#bitCount
      this.#bitCount += 8
      const width = widthOf(this.#n)
      if (this.#bitCount < width) continue
      const code = this.#bits & ((1 << width) - 1)
      this.#bits >>>= width
      this.#bitCount -= width
      this.#spell(code)
    }
    return at
  }

  drain(): Buffer {
    const piece = this.#out.subarray(0, this.#used)
    if (this.#used > 0) this.#out = Buffer.allocUnsafeSlow(OUT_OCTETS)
    this.#used = 0
    return piece
  }

  #spell(code: number): void {
    if (code === END) {
      this.#ended = true
      return
    }
    // The entry that the previous code made is complete only now that the first octet of this one is known.
    const made = END + this.#n
    if (this.#previous >= 0) {
      if (code > made) throw broken('it holds a code that was never made')
      this.#prefixes[made] = this.#previous
      this.#firsts[made] = this.#firsts[this.#previous]!
      this.#octets[made] = this.#firsts[code === made ? this.#previous : code]!
      this.#lengths[made] = this.#lengths[this.#previous]! + 1
    } else if (code > 255) throw broken('its first code is no octet')

    const length = this.#lengths[code]!
    let at = this.#used + length
    for (let walk = code; at > this.#used; walk = this.#prefixes[walk]!) this.#out[--at] = this.#octets[walk]!
    this.#used += length

    if (FIRST + this.#n > LAST) {
      this.#n = 0
      this.#previous = -1
    } else {
      this.#n++
      this.#previous = code
    }
  }
}
