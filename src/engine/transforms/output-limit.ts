// The guard against decompression bombs: what comes out of a decompressor is counted while it comes, and stopped at a
// size or at a ratio to what went in. A file may wear several layers (zlib around gzip), each of them within its ratio;
// so they share a budget, whose ratio is to the octets that were received. No limit is set by default, because files of
// any size are the node's business.

import { NodeError } from '../../errors.ts'

export type OutputLimit = {
  maxOctets?: number
  /** Octets out for one octet in. zlib alone reaches 1030 on zeros, so a sensible limit is not far below that. */
  maxRatio?: number
  /** Shared by the layers of one file. */
  budget?: OutputBudget
}

/** What all layers of one file make together. */
export class OutputBudget {
  readonly #made: OutputGuard

  constructor(received: number, limit: { maxOctets: number; maxRatio: number }) {
    this.#made = new OutputGuard(limit)
    this.#made.took(received)
  }

  made(octets: number): void {
    this.#made.made(octets)
  }
}

/** The ratio says nothing about short outputs, where headers weigh as much as content. */
const RATIO_FREE_OCTETS = 1024 * 1024

export class OutputGuard {
  octetsIn = 0
  octetsOut = 0
  readonly #maxOctets: number
  readonly #maxRatio: number
  readonly #budget: OutputBudget | undefined

  constructor(limit: OutputLimit) {
    this.#maxOctets = limit.maxOctets ?? Infinity
    this.#maxRatio = limit.maxRatio ?? Infinity
    this.#budget = limit.budget
  }

  took(octets: number): void {
    this.octetsIn += octets
  }

  made(octets: number): void {
    this.octetsOut += octets
    this.#budget?.made(octets)
    if (this.octetsOut > this.#maxOctets)
      throw new NodeError('bad_envelope', `the content opens to more than ${this.#maxOctets} octets`)
    if (this.octetsOut > RATIO_FREE_OCTETS && this.octetsOut > this.octetsIn * this.#maxRatio)
      throw new NodeError('bad_envelope', `the content opens to more than ${this.#maxRatio} times its size`)
  }
}
