// Reads BER from a stream: definite and open-ended lengths, octet strings whole or in segments, nothing held but what
// the caller asks for by name and limit. No package does this for content of any size.
//
// Bounds, because every length comes from the other side: containers nest at most 32 deep, lengths have at most 6
// octets, tag numbers are below 31, a value that is buffered has a limit given by the caller, and a child never
// reaches beyond its parent. Whatever breaks a rule becomes the NodeError that `fail` makes.

import { AsnConvert } from '@peculiar/asn1-schema'
import type { NodeError } from '../../../errors.ts'
import { asBuffer, Packer } from '../step.ts'
import { dottedOid, header as derHeader, MAX_DEPTH, TAG } from './der.ts'

export type Fail = (what: string, cause?: unknown) => NodeError

type Header = { tag: number; length: number | undefined; raw: Buffer }
type Container = { end: number; openEnded: boolean }

const MAX_LENGTH_OCTETS = 6

/** Certificates and revocation lists that travel along are passed over, up to here. */
const SKIP_LIMIT = 1024 * 1024

const CONSTRUCTED = 0x20

export class BerReader {
  readonly fail: Fail
  readonly #source: AsyncIterator<Uint8Array>
  readonly #containers: Container[] = []
  #chunk: Buffer = Buffer.alloc(0)
  #at = 0
  /** Octets of the stream before the chunk. */
  #before = 0

  constructor(source: AsyncIterable<Uint8Array>, fail: Fail) {
    this.#source = source[Symbol.asyncIterator]()
    this.fail = fail
  }

  /** Lets the source go; needed however reading ended. */
  async close(): Promise<void> {
    await this.#source.return?.()
  }

  async enter(tag: number, what: string): Promise<void> {
    const { tag: found, length } = await this.#header()
    if (found !== tag) throw this.fail(`${what} is missing`)
    this.#open(length)
  }

  async leave(): Promise<void> {
    const container = this.#containers.at(-1)
    if (container === undefined || (await this.more()))
      throw this.fail('there is more in it than its format allows')
    this.#containers.pop()
    if (container.openEnded) this.#at += 2
  }

  /** Whether the innermost container holds another value. */
  async more(): Promise<boolean> {
    const container = this.#containers.at(-1)
    if (container === undefined) return this.#have(1)
    if (!container.openEnded) return this.#position < container.end
    await this.#need(2)
    return this.#chunk[this.#at] !== 0 || this.#chunk[this.#at + 1] !== 0
  }

  /** The tag of the next value, undefined at the end of the container. */
  async peek(): Promise<number | undefined> {
    if (!(await this.more())) return undefined
    await this.#need(1)
    return this.#chunk[this.#at]
  }

  /** The next value whole, header and all, as it stands. */
  async element(tag: number, what: string, limit: number): Promise<Buffer> {
    if ((await this.peek()) !== tag) throw this.fail(`${what} is missing`)
    const parts: Buffer[] = []
    await this.#copy(parts, { left: limit }, what)
    return Buffer.concat(parts)
  }

  async skip(what: string): Promise<void> {
    await this.#copy(undefined, { left: SKIP_LIMIT }, what)
  }

  async oid(what: string): Promise<string> {
    const bytes = await this.element(TAG.oid, what, 64)
    const dotted = dottedOid(bytes.subarray(2))
    if (dotted === undefined) throw this.fail(`${what} is no object identifier`)
    return dotted
  }

  /** Octets of the string that comes next: `primitive` in one piece, or `primitive` + 0x20 in segments. */
  async *octets(primitive: number, what: string): AsyncGenerator<Buffer> {
    const { tag, length } = await this.#header()
    const out = new Packer()
    if (tag === primitive && length !== undefined) yield* this.#run(length, out)
    else if (tag === (primitive | CONSTRUCTED)) yield* this.#segments(length, out, what)
    else throw this.fail(`${what} is missing`)
    yield* out.finish()
  }

  /** Nothing may follow. */
  async finish(): Promise<void> {
    if (this.#containers.length > 0 || (await this.#have(1))) throw this.fail('octets follow its end')
  }

  async *#segments(length: number | undefined, out: Packer, what: string): AsyncGenerator<Buffer> {
    const depth = this.#containers.length
    this.#open(length)
    while (this.#containers.length > depth) {
      this.#wholeSegments(out)
      if (out.ready) yield* out.drain()
      if (!(await this.more())) {
        await this.leave()
        continue
      }
      const segment = await this.#header()
      if (segment.tag === TAG.octetStringSegmented) this.#open(segment.length)
      else if (segment.tag === TAG.octetString && segment.length !== undefined)
        yield* this.#run(segment.length, out)
      else throw this.fail(`${what} holds something other than octet strings`)
    }
  }

  /** The segments that lie whole in the chunk, without a pause for each: some writers make them of 1000 octets. */
  #wholeSegments(out: Packer): void {
    const chunk = this.#chunk
    while (chunk.length - this.#at >= 2 + MAX_LENGTH_OCTETS && chunk[this.#at] === TAG.octetString) {
      const first = chunk[this.#at + 1]!
      const octets = first > 0x80 ? first - 0x80 : 0
      if (first === 0x80 || octets > MAX_LENGTH_OCTETS) return
      const start = this.#at + 2 + octets
      const end = start + (octets > 0 ? chunk.readUIntBE(this.#at + 2, octets) : first)
      // Whatever is not plainly right is left to the slow way, which knows what to say about it.
      if (end > chunk.length || this.#before + end > this.#limit) return
      out.add(chunk, start, end)
      this.#at = end
    }
  }

  async *#run(length: number, out: Packer): AsyncGenerator<Buffer> {
    for (let left = length; left > 0;) {
      await this.#need(1)
      const taken = Math.min(left, this.#chunk.length - this.#at)
      out.add(this.#chunk, this.#at, this.#at + taken)
      this.#at += taken
      left -= taken
      if (out.ready) yield* out.drain()
    }
  }

  /** Copies (or only passes over) one value with everything in it. */
  async #copy(into: Buffer[] | undefined, room: { left: number }, what: string): Promise<void> {
    const { length, raw } = await this.#header()
    room.left -= raw.length + (length ?? 0)
    if (room.left < 0) throw this.fail(`${what} is too long`)
    into?.push(raw)
    if (length !== undefined) {
      for (let left = length; left > 0;) {
        await this.#need(1)
        const taken = Math.min(left, this.#chunk.length - this.#at)
        into?.push(this.#chunk.subarray(this.#at, this.#at + taken))
        this.#at += taken
        left -= taken
      }
      return
    }
    this.#open(undefined)
    while (await this.more()) await this.#copy(into, room, what)
    await this.leave()
    into?.push(Buffer.alloc(2))
  }

  async #header(): Promise<Header> {
    await this.#need(2)
    const tag = this.#chunk[this.#at]!
    const first = this.#chunk[this.#at + 1]!
    if ((tag & 0x1f) === 0x1f || tag === 0) throw this.fail('it holds an impossible tag')
    const octets = first > 0x80 ? first - 0x80 : 0
    if (octets > MAX_LENGTH_OCTETS) throw this.fail('it holds an impossible length')
    if (octets > 0) await this.#need(2 + octets)
    const raw = this.#chunk.subarray(this.#at, this.#at + 2 + octets)
    this.#at += raw.length
    if (first === 0x80) {
      if ((tag & CONSTRUCTED) === 0) throw this.fail('it holds an impossible length')
      return { tag, length: undefined, raw }
    }
    const length = octets > 0 ? raw.readUIntBE(2, octets) : first
    if (this.#position + length > this.#limit) throw this.fail('a value is longer than what holds it')
    return { tag, length, raw }
  }

  #open(length: number | undefined): void {
    if (this.#containers.length === MAX_DEPTH) throw this.fail('it nests too deeply')
    const openEnded = length === undefined
    this.#containers.push({ openEnded, end: openEnded ? this.#limit : this.#position + length })
  }

  get #position(): number {
    return this.#before + this.#at
  }

  get #limit(): number {
    return this.#containers.at(-1)?.end ?? Infinity
  }

  async #need(octets: number): Promise<void> {
    if (this.#position + octets > this.#limit) throw this.fail('a value is longer than what holds it')
    if (!(await this.#have(octets))) throw this.fail('it ends too early')
  }

  /** Makes `octets` (a few) lie together in the chunk; false when the stream ends before. */
  async #have(octets: number): Promise<boolean> {
    while (this.#chunk.length - this.#at < octets) {
      const next = await this.#source.next()
      if (next.done === true) return false
      const left = this.#chunk.subarray(this.#at)
      this.#before += this.#at
      this.#at = 0
      this.#chunk = left.length === 0 ? asBuffer(next.value) : Buffer.concat([left, next.value])
    }
    return true
  }
}

/** Parses a buffered value with its schema (asn1js bounds depth and nodes); the parser's own errors never leave. */
export function parseAs<T>(bytes: Uint8Array, schema: new () => T, fail: Fail, what: string): T {
  try {
    return AsnConvert.parse(bytes, schema)
  } catch (cause) {
    throw fail(`${what} is malformed`, cause)
  }
}

/** One segment of a segmented octet string, header and content in one chunk. */
export function segment(bytes: Uint8Array): Buffer {
  return Buffer.concat([derHeader(TAG.octetString, bytes.length), bytes])
}
