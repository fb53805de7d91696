// Reads a file into the workspace in large blocks, one ahead of the encoder. Reads ascend and never overlap.
import { NodeError } from '../../../../errors.ts'
import type { Source } from '../../transport.ts'
import type { Block } from './encode.ts'
import type { Workspace } from './workspace.ts'

export class BlockReader {
  readonly #source: Source
  readonly #workspace: Workspace
  readonly #size: number
  #position: number
  #turn: 0 | 1 = 0
  #end = 0
  #ahead: Promise<number>

  constructor(source: Source, workspace: Workspace, options: { position: number; blockSize: number }) {
    this.#source = source
    this.#workspace = workspace
    this.#size = options.blockSize
    this.#position = options.position
    this.#ahead = this.#read()
  }

  /** The next block, with the last `leftOver` octets of the one before in front of it. */
  async next(leftOver: number): Promise<Block> {
    const count = await this.#ahead
    const { memory } = this.#workspace.kernel
    const { start } = this.#workspace.regions[this.#turn]
    if (leftOver > 0) memory.copyWithin(start - leftOver, this.#end - leftOver, this.#end)
    this.#end = start + count
    this.#position += count
    this.#turn = this.#turn === 0 ? 1 : 0
    const last = this.#position >= this.#source.size
    if (!last) this.#ahead = this.#read()
    return { start: start - leftOver, end: this.#end, last }
  }

  /** Waits for a read that is still under way, so that the file may be closed and the memory used again. */
  async settle(): Promise<void> {
    await this.#ahead.catch(() => 0)
  }

  #read(): Promise<number> {
    const reading = this.#fill(this.#position)
    // A failure is met at `next` or dropped at `settle`.
    void reading.catch(() => undefined)
    return reading
  }

  async #fill(position: number): Promise<number> {
    const { start } = this.#workspace.regions[this.#turn]
    const wanted = Math.min(this.#size, this.#source.size - position)
    const into = this.#workspace.kernel.memory.subarray(start, start + wanted)
    let filled = 0
    while (filled < wanted) {
      const count = await this.#source.read(into.subarray(filled), position + filled)
      if (count <= 0)
        throw new NodeError(
          'file_changed',
          `the file ended at ${position + filled} of ${this.#source.size} octets`,
        )
      filled += count
    }
    return filled
  }
}
