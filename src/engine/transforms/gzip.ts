// gzip (RFC 1952), one member per file, and bare zlib (RFC 1950) for CMS. Opening is strict: a truncated stream, a
// wrong checksum or length, a second member or anything else behind the end is bad_envelope.
//
// The gzip frame is read here and only the deflate stream inside it is left to zlib, because Node's Gunzip accepts
// padding and further members without a word.

import {
  crc32,
  createDeflate,
  createGzip,
  createInflate,
  createInflateRaw,
  deflateSync,
  inflateSync,
} from 'node:zlib'
import { NodeError } from '../../errors.ts'
import { OutputGuard, type OutputLimit } from './output-limit.ts'
import { asBuffer, BLOCK_OCTETS, blocks, once, type Step } from './step.ts'
import { driveZlib, ZLIB_CHUNK_OCTETS } from './zlib-step.ts'

export type CompressOptions = {
  /** 1 fastest to 9 smallest; zlib's own default is 6. */
  level?: number
}

const FHCRC = 2
const FEXTRA = 4
const FNAME = 8
const FCOMMENT = 16

/** Names and comments have no length of their own; a header beyond this is no honest one. */
const MAX_HEADER_OCTETS = 64 * 1024

export function gzip({ level = 6 }: CompressOptions = {}): Step {
  return (source) =>
    driveZlib(blocks(source), { stream: createGzip({ level, chunkSize: ZLIB_CHUNK_OCTETS }) })
}

export function deflate({ level = 6 }: CompressOptions = {}): Step {
  const inParts = (source: AsyncIterable<Buffer>) =>
    driveZlib(source, { stream: createDeflate({ level, chunkSize: ZLIB_CHUNK_OCTETS }) })
  return (source) => atOnceIfSmall(source, (bytes) => deflateSync(bytes, { level }), inParts)
}

export function inflate(limit: OutputLimit = {}): Step {
  return async function* inflated(source) {
    const guard = new OutputGuard(limit)
    const inParts = (some: AsyncIterable<Buffer>) =>
      driveZlib(some, { stream: createInflate({ chunkSize: ZLIB_CHUNK_OCTETS }), onRest: refuseRest })
    for await (const chunk of atOnceIfSmall(counted(blocks(source), guard), inflatedAtOnce, inParts)) {
      guard.made(chunk.length)
      yield chunk
    }
  }
}

/** What is opened at once may become this much. */
const AT_ONCE_OCTETS = 1024 * 1024

/** Undefined: it is big or broken. The stream finds out which. */
function inflatedAtOnce(bytes: Buffer): Buffer | undefined {
  try {
    const opened = inflateSync(bytes, { maxOutputLength: AT_ONCE_OCTETS, info: true }) as unknown
    const { buffer, engine } = opened as { buffer: Buffer; engine: { bytesWritten: number } } // what `info` asks for
    return engine.bytesWritten === bytes.length ? buffer : undefined
  } catch {
    return undefined
  }
}

/**
 * One short block is done here, in one call. Thousands of small files come at once, and to ask another thread for each of
 * several steps takes far longer than the work, the more so where the processors are busy.
 */
async function* atOnceIfSmall(
  source: AsyncIterable<Uint8Array>,
  atOnce: (bytes: Buffer) => Buffer | undefined,
  inParts: (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const all = blocks(source)
  try {
    const { value: first = Buffer.alloc(0), done } = await all.next()
    // A block that is short is the last.
    const isShort = done === true || first.length < BLOCK_OCTETS
    const whole = isShort ? atOnce(first) : undefined
    if (whole) yield whole
    else yield* inParts(isShort ? (once(first) as AsyncGenerator<Buffer>) : joined(first, all))
  } finally {
    await all.return(undefined)
  }
}

async function* joined(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* rest
}

export function gunzip(limit: OutputLimit = {}): Step {
  return async function* gunzipped(source) {
    const guard = new OutputGuard(limit)
    const stream = createInflateRaw({ chunkSize: ZLIB_CHUNK_OCTETS })
    const trailer: Buffer[] = []
    let trailerOctets = 0
    const onRest = (rest: Uint8Array): void => {
      trailerOctets += rest.length
      if (trailerOctets > 8) throw broken('octets follow the end of the gzip member')
      trailer.push(asBuffer(rest))
    }
    let crc = 0
    for await (const chunk of driveZlib(withoutHeader(counted(blocks(source), guard)), { stream, onRest })) {
      guard.made(chunk.length)
      crc = crc32(chunk, crc)
      yield chunk
    }
    const end = Buffer.concat(trailer)
    if (end.length < 8) throw broken('the gzip member ends too early')
    if (end.readUInt32LE(0) !== crc) throw broken('the content does not match its checksum')
    if (end.readUInt32LE(4) !== guard.octetsOut % 2 ** 32)
      throw broken('the content does not match its length')
  }
}

function broken(what: string): NodeError {
  return new NodeError('bad_envelope', what)
}

function refuseRest(): never {
  throw broken('octets follow the end of the zlib stream')
}

async function* counted(source: AsyncIterable<Buffer>, guard: OutputGuard): AsyncGenerator<Buffer> {
  for await (const block of source) {
    guard.took(block.length)
    yield block
  }
}

async function* withoutHeader(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun = false
  for await (const block of source) {
    // The first block is at least as long as the longest header, unless it is also the last.
    if (!begun) yield block.subarray(headerLength(block))
    else yield block
    begun = true
  }
  if (!begun) throw broken('the gzip member is empty')
}

function headerLength(block: Buffer): number {
  if (block[0] !== 0x1f || block[1] !== 0x8b || block[2] !== 8) throw broken('the content is no gzip member')
  const flags = block[3] ?? 0
  if ((flags & 0xe0) !== 0) throw broken('the gzip header has reserved flags')
  let at = 10
  if (flags & FEXTRA) at += 2 + (block[at] ?? 0) + (block[at + 1] ?? 0) * 256
  for (const flag of [FNAME, FCOMMENT]) {
    if ((flags & flag) === 0) continue
    const zero = block.indexOf(0, at)
    if (zero < 0) throw broken('the gzip header does not end')
    at = zero + 1
  }
  if (flags & FHCRC) at += 2
  if (at > Math.min(block.length, MAX_HEADER_OCTETS)) throw broken('the gzip header does not end')
  return at
}
