// The guard against decompression bombs: what comes out of a decompressor is counted while it comes, and stopped at a
// size or at a ratio to what went in. No limit is set by default, because files of any size are the node's business.

import { NodeError } from '../../errors.ts'

export type OutputLimit = {
  maxOctets?: number
  /** Octets out for one octet in. zlib alone reaches 1030 on zeros, so a sensible limit is not far below that. */
  maxRatio?: number
}

/** The ratio says nothing about short outputs, where headers weigh as much as content. */
const RATIO_FREE_OCTETS = 1024 * 1024

export class OutputGuard {
  octetsIn = 0
  octetsOut = 0
  readonly #maxOctets: number
  readonly #maxRatio: number

  constructor(limit: OutputLimit) {
    this.#maxOctets = limit.maxOctets ?? Infinity
    this.#maxRatio = limit.maxRatio ?? Infinity
  }

  took(octets: number): void {
    this.octetsIn += octets
  }

  made(octets: number): void {
    this.octetsOut += octets
    if (this.octetsOut > this.#maxOctets)
      throw new NodeError('bad_envelope', `the content opens to more than ${this.#maxOctets} octets`)
    if (this.octetsOut > RATIO_FREE_OCTETS && this.octetsOut > this.octetsIn * this.#maxRatio)
      throw new NodeError('bad_envelope', `the content opens to more than ${this.#maxRatio} times its size`)
  }
}
