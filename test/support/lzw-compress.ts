// What earlier versions sent as LZW (src/engine/transforms/lzw.ts has the format).

import { crc32 } from 'node:zlib'
import { LZW_MARK } from '../../src/engine/transforms/lzw.ts'
import { blocks, Packer, type Step } from '../../src/engine/transforms/step.ts'

const END = 256
const FIRST = 257
const LAST = 65_535

/** Open addressing over (prefix code, octet); two places for each code keep probes short and the table in the cache. */
const SLOTS = (LAST + 1) * 2
const SLOT_SHIFT = 15

export function lzwCompress(): Step {
  return async function* compressed(source) {
    const out = new Packer()
    const compressor = new Compressor(out)
    let crc = 0
    out.add(LZW_MARK)
    for await (const block of blocks(source)) {
      crc = crc32(block, crc)
      compressor.take(block)
      if (out.ready) yield* out.drain()
    }
    compressor.end()
    const trailer = Buffer.alloc(4)
    trailer.writeUInt32LE(crc)
    out.add(trailer)
    yield* out.finish()
  }
}

class Compressor {
  readonly #out: Packer
  readonly #keys = new Int32Array(SLOTS).fill(-1)
  readonly #codes = new Uint16Array(SLOTS)
  #n = 0
  #prefix = -1
  #bits = 0
  #bitCount = 0

  constructor(out: Packer) {
    this.#out = out
  }

  take(block: Buffer): void {
    const keys = this.#keys
    const codes = this.#codes
    let prefix = this.#prefix
    let at = 0
    if (prefix < 0 && block.length > 0) prefix = block[at++]!
    for (; at < block.length; at++) {
      const octet = block[at]!
      const key = (prefix << 8) | octet
      let slot = Math.imul(key, 0x9e3779b1) >>> SLOT_SHIFT
      while (keys[slot] !== key && keys[slot] !== -1) slot = (slot + 1) & (SLOTS - 1)
      if (keys[slot] === key) {
        prefix = codes[slot]!
        continue
      }
      this.#put(prefix)
      this.#learn(slot, key)
      prefix = octet
    }
    this.#prefix = prefix
  }

  end(): void {
    if (this.#prefix >= 0) {
      this.#put(this.#prefix)
      this.#learn(-1, -1)
    }
    this.#put(END)
    if (this.#bitCount > 0) this.#out.octet(this.#bits)
  }

  /** Adds the entry that goes with the code just put, or empties the table when there is no code for it. */
  #learn(slot: number, key: number): void {
    const code = FIRST + this.#n
    if (code > LAST) {
      this.#keys.fill(-1)
      this.#n = 0
      return
    }
    if (slot >= 0) {
      this.#keys[slot] = key
      this.#codes[slot] = code
    }
    this.#n++
  }

  #put(code: number): void {
    this.#bits |= code << this.#bitCount
    this.#bitCount += widthOf(this.#n)
    while (this.#bitCount >= 8) {
      this.#out.octet(this.#bits & 0xff)
      this.#bits >>>= 8
      this.#bitCount -= 8
    }
  }
}

function widthOf(n: number): number {
  return 32 - Math.clz32(END + n)
}
