// A file's octets to exchange buffers, ready for the socket: stream header, `D`, sub-records.
//
// Blocks of the file lie in the workspace; each call of `writeBuffers` writes as many exchange buffers as one region, the
// block and the credit allow. Every exchange buffer is closed at the end of a block: whole buffers go out as they are.
import { NodeError } from '../../../../errors.ts'
import { writeStreamHeader } from './buffers.ts'
import type { Kernel } from './kernel.ts'
import { REGISTER } from './kernel.ts'
import type { WireShape } from '../restart.ts'
import type { Region } from './workspace.ts'
import { REGION_SIZE } from './workspace.ts'

const EOR = 0x80
const DATA = 0x44

export type Block = { start: number; end: number; last: boolean }

export class DataEncoder {
  /** Records ended so far, and octets of the file up to the end of the last sub-record written. */
  records: number
  position: number
  /** Where the last record ended: a restart point of V files. */
  recordEnd: number

  readonly #kernel: Kernel
  readonly #shape: WireShape
  readonly #bufferSize: number
  readonly #encode: Kernel['encodePlain']
  #source = 0
  #blockEnd = 0
  #last = false
  /** The record, or rest of one, that is being written; `#owing` until its end-of-record flag is out. */
  #runEnd = 0
  #flag = 0
  #owing = false

  constructor(
    kernel: Kernel,
    options: { shape: WireShape; bufferSize: number; packed: boolean; position: number; records: number },
  ) {
    this.#kernel = kernel
    this.#shape = options.shape
    this.#bufferSize = options.bufferSize
    this.#encode = options.packed ? kernel.encodePacked : kernel.encodePlain
    this.position = options.position
    this.recordEnd = options.position
    this.records = options.records
  }

  load(block: Block): void {
    this.#source = block.start
    this.#blockEnd = block.end
    this.#last = block.last
    // An empty last block still owes U and T their end-of-file mark; F and V then have nothing more to say.
    if (this.#shape.kind === 'stream' && (block.end > block.start || block.last))
      this.#begin(block.end, block.last)
  }

  /** Whether the block still has something to write: a rest of a record, or a further whole one. */
  more(): boolean {
    return this.#owing || this.#nextRecord()
  }

  /** Octets of the loaded block, from here, that no whole record covers: they belong in front of the next block. */
  get leftOver(): number {
    return this.#blockEnd - this.#source
  }

  /** Writes into `region` at most `credit` exchange buffers; gives how many, and where they end. */
  writeBuffers(region: Region, credit: number): { buffers: number; end: number } {
    let at = region.start
    let buffers = 0
    while (buffers < credit && at + 4 + this.#bufferSize <= region.end && this.more()) {
      const end = this.#writeBuffer(at + 5, at + 4 + this.#bufferSize)
      writeStreamHeader(this.#kernel.memory, at, end - at)
      this.#kernel.memory[at + 4] = DATA
      at = end
      buffers += 1
    }
    return { buffers, end: at }
  }

  #begin(end: number, endsRecord: boolean): void {
    this.#runEnd = end
    this.#flag = endsRecord ? EOR : 0
    this.#owing = true
  }

  /** Sets up the next record of the block; false when the block holds no further whole one. */
  #nextRecord(): boolean {
    const shape = this.#shape
    if (shape.kind === 'stream' || this.#source >= this.#blockEnd) return false
    if (shape.kind === 'fixed') {
      this.#begin(this.#source + shape.length, true)
      return true
    }
    const length = this.#variableLength(shape.length)
    if (length === undefined) return false
    this.#source += 2
    this.position += 2
    this.#begin(this.#source + length, true)
    return true
  }

  #variableLength(longest: number): number | undefined {
    const { memory } = this.#kernel
    const left = this.#blockEnd - this.#source
    const length = left < 2 ? 0 : ((memory[this.#source] ?? 0) << 8) | (memory[this.#source + 1] ?? 0)
    if (length > longest)
      throw new NodeError('file_refused', `a record of ${length} octets, longer than ${longest}`)
    if (left >= 2 + length) return length
    if (this.#last) throw new NodeError('file_refused', 'the last record is shorter than its length says')
    return undefined
  }

  #writeBuffer(from: number, to: number): number {
    let at = from
    while (at < to && this.more()) {
      const before = this.#source
      if (this.#source === this.#runEnd) {
        this.#kernel.memory[at] = this.#flag
        at += 1
      } else {
        at = this.#encode(this.#source, this.#runEnd, at, to, this.#flag)
        this.#source = this.#kernel.registers[REGISTER.source] ?? before
      }
      this.position += this.#source - before
      if (this.#source < this.#runEnd) break
      this.#endRun()
    }
    return at
  }

  #endRun(): void {
    this.#owing = false
    if (this.#shape.kind === 'stream') return
    this.records += 1
    this.recordEnd = this.position
  }
}

/** Octets of the file per read: whole records for F; for plain U and T as many as fill exchange buffers exactly. */
export function blockSize(shape: WireShape, bufferSize: number, packed: boolean): number {
  if (shape.kind === 'fixed') return Math.floor(REGION_SIZE / shape.length) * shape.length
  if (shape.kind === 'variable' || packed) return REGION_SIZE
  const room = bufferSize - 1
  const carried = Math.floor(room / 64) * 63 + Math.max(0, (room % 64) - 1)
  return Math.floor((REGION_SIZE * 63) / 64 / (carried + 8)) * carried
}
