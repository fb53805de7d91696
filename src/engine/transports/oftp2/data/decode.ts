// Exchange buffers back to the file's octets, gathered in large regions and handed to the file one after the other.
//
// `feed` works while a region is free; when none is, it says so and the caller waits: that is the back-pressure on the
// line. A V file is only ever handed over in whole records, each behind its length. Trouble with the records is kept
// until the file's end, where the protocol has an answer for it; trouble with the sub-records is a protocol fault.
//
// A stream (U, T) is one record, whose end is the file's (7.2). What comes behind that end: in U a protocol fault, because
// nothing can say what the end meant. In T the sender makes a record of each line, as some do: each end becomes the CR LF
// that a text has there (1.5.3), unless the line brought its own.
import type { NodeError } from '../../../../errors.ts'
import { DECODE_MODE, DECODED, REGISTER } from './kernel.ts'
import type { DecodeMode } from './kernel.ts'
import { fault, fileFault } from '../protocol/reasons.ts'
import type { WireShape } from '../restart.ts'
import type { Region, Workspace } from './workspace.ts'

type Write = (chunk: Uint8Array, position: number) => Promise<void>

const CR = 0x0d
const LF = 0x0a

const MODES = { stream: DECODE_MODE.stream, fixed: DECODE_MODE.fixed, variable: DECODE_MODE.variable }

export class DataDecoder {
  /** Why the file cannot be accepted although the session goes on. */
  trouble: NodeError | undefined

  readonly #workspace: Workspace
  readonly #write: Write
  readonly #mode: DecodeMode
  readonly #length: number
  /** Octets of the file in front of the current region. */
  #position: number
  readonly #recordsBefore: number
  #current = 0
  #target: number
  #recordFill = 0
  #records = 0
  /** What is still to be written of each region; a region is free when its promise is undefined. */
  readonly #writing: (Promise<void> | undefined)[] = [undefined, undefined, undefined, undefined]
  #tail: Promise<void> = Promise.resolve()
  #source = 0
  #sourceEnd = 0
  readonly #lines: boolean
  /** The stream's record has ended: the last thing that came was its end. */
  #ended = false
  /** Ends were found inside the text, so that its last line has one too. */
  #endsInside = false
  /** Octets of the file in front of the record that is open in a stream. */
  #recordStart: number
  #lastOctet = 0
  /** Line ends that were put in and did not travel. */
  #added = 0

  constructor(
    workspace: Workspace,
    shape: WireShape,
    start: { position: number; records: number },
    write: Write,
  ) {
    this.#workspace = workspace
    this.#write = write
    this.#mode = MODES[shape.kind]
    this.#length = shape.kind === 'stream' ? 0 : shape.length
    this.#position = start.position
    this.#recordsBefore = start.records
    this.#target = this.#region.start
    this.#lines = shape.kind === 'stream' && shape.lines === true
    this.#recordStart = start.position
  }

  get #region(): Region {
    // Always one of the four.
    return this.#workspace.regions[this.#current] as Region
  }

  /** Octets kept free in front of the open V record for its length. */
  get #hole(): number {
    return this.#mode === DECODE_MODE.variable ? 2 : 0
  }

  get records(): number {
    return this.#recordsBefore + this.#records
  }

  /** Octets of the file so far; whole records alone for V. */
  get size(): number {
    return this.#position + this.#target - this.#region.start - (this.#hole > 0 ? this.#recordFill : 0)
  }

  /** Line ends were put in: positions here are no longer those that the partner counts. */
  get isAltered(): boolean {
    return this.#added > 0
  }

  /** Octets as the partner counts them: without the line ends that were put in here. */
  get transmitted(): number {
    return this.size - this.#added
  }

  /** A record that has begun and not ended. */
  get inRecord(): boolean {
    return this.#recordFill > 0
  }

  /** Takes a whole DATA exchange buffer. A promise: wait for it before the next one, and before anything else. */
  feed(exchange: Uint8Array): Promise<void> | undefined {
    if (this.trouble !== undefined) return undefined
    const { kernel, gather } = this.#workspace
    const gathered = exchange.buffer === kernel.memory.buffer
    if (!gathered) kernel.memory.set(exchange, gather.start)
    const start = gathered ? exchange.byteOffset : gather.start
    this.#source = start + 1
    this.#sourceEnd = start + exchange.length
    return this.#run()
  }

  #run(): Promise<void> | undefined {
    for (;;) {
      if (this.#ended && this.#source < this.#sourceEnd && this.#lines) {
        this.#endsInside = true
        const waiting = this.#endLine()
        if (waiting !== undefined) return waiting.then(() => this.#run())
      }
      const before = this.#target
      const status = this.#decode()
      if (this.#ended && this.#target > before)
        throw fault('02', 'data behind the end of an unstructured file')
      if (status === DECODED.all) return undefined
      if (status === DECODED.ended) {
        this.#ended = true
        continue
      }
      if (status === DECODED.malformed) throw fault('06', 'a sub-record reaches past its exchange buffer')
      if (status === DECODED.wrongLength) {
        this.trouble = fileFault(
          '05',
          `a record that is not ${this.#mode === DECODE_MODE.fixed ? '' : 'at most '}${this.#length} octets long`,
        )
        return undefined
      }
      const waiting = this.#turnOver()
      if (waiting !== undefined) return waiting.then(() => this.#run())
    }
  }

  /** Writes the end of a line that came without one. A promise when there is no room for it yet. */
  #endLine(): Promise<void> | undefined {
    const { memory } = this.#workspace.kernel
    const { start, end } = this.#region
    const last = this.#target > start ? memory[this.#target - 1] : this.#lastOctet
    if (this.size === this.#recordStart || last !== LF) {
      if (this.#target + 2 > end) {
        const waiting = this.#turnOver()
        if (waiting !== undefined) return waiting
      }
      memory.set([CR, LF], this.#target)
      this.#target += 2
      this.#added += 2
    }
    this.#ended = false
    this.#recordStart = this.size
    return undefined
  }

  /** The file's octets have all come. */
  async endOfFile(): Promise<void> {
    if (!this.#endsInside || !this.#ended) return
    for (let waiting = this.#endLine(); waiting !== undefined; waiting = this.#endLine()) await waiting
  }

  #decode(): number {
    const { kernel } = this.#workspace
    kernel.registers[REGISTER.recordFill] = this.#recordFill
    kernel.registers[REGISTER.records] = 0
    const hole = this.#hole
    const status = kernel.decode(
      this.#source,
      this.#sourceEnd,
      this.#target + hole,
      this.#region.end,
      this.#mode,
      this.#length,
    )
    const [source = 0, target = 0, fill = 0, records = 0] = kernel.registers
    this.#source = source
    this.#target = target - hole
    this.#recordFill = fill
    this.#records += records
    return status
  }

  /** Hands the current region to the file and goes on in the next; a promise when that one is not free yet. */
  #turnOver(): Promise<void> | undefined {
    const { memory } = this.#workspace.kernel
    const { start } = this.#region
    const kept = this.#hole > 0 ? this.#recordFill : 0
    const end = this.#target - kept
    const next = (this.#current + 1) % this.#writing.length
    const waiting = this.#writing[next]
    if (waiting !== undefined) return waiting
    if (end > start) this.#lastOctet = memory[end - 1] ?? 0
    if (end > start) this.#handOver(memory.subarray(start, end))
    this.#position += end - start
    this.#current = next
    const following = this.#region.start
    if (kept > 0) memory.copyWithin(following + 2, end + 2, end + 2 + kept)
    this.#target = following + kept
    return undefined
  }

  #handOver(chunk: Uint8Array): void {
    const region = this.#current
    const position = this.#position
    const written = this.#tail.then(() => this.#write(chunk, position))
    this.#tail = written
    const freed = written.then(() => {
      this.#writing[region] = undefined
    })
    this.#writing[region] = freed
    // Whoever waits for a region or for the end sees the failure; it must not count as unhandled before.
    void freed.catch(() => undefined)
    void written.catch(() => undefined)
  }

  /** Hands over what is decoded and resolves when at most the last region is still on its way to the file. */
  async pass(): Promise<void> {
    const before = this.#tail
    for (let waiting = this.#turnOver(); waiting !== undefined; waiting = this.#turnOver()) await waiting
    await before
  }

  /** Everything decoded is with the file. */
  async flush(): Promise<void> {
    await this.pass()
    await this.#tail
  }

  /** Waits until nothing touches the workspace any more, whatever became of it. */
  async settle(): Promise<void> {
    await this.#tail.catch(() => undefined)
  }
}
