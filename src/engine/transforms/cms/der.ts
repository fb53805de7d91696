// Writing DER values and walking finished ones: the few shapes CMS is put together from. Everything here is in memory
// and small; streams are read in ber.ts. Reading throws a plain RangeError, which callers translate to their own code.

import { asBuffer } from '../step.ts'

export const TAG = {
  integer: 0x02,
  octetString: 0x04,
  octetStringSegmented: 0x24,
  null: 0x05,
  oid: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  /** [n], primitive and constructed. */
  context: (n: number): number => 0x80 + n,
  contextConstructed: (n: number): number => 0xa0 + n,
} as const

/** Closes that many open-ended values. */
export function closeEnded(levels: number): Buffer {
  return Buffer.alloc(2 * levels)
}

export function header(tag: number, length: number): Buffer {
  if (length < 0x80) return Buffer.from([tag, length])
  const digits: number[] = []
  for (let left = length; left > 0; left = Math.floor(left / 256)) digits.unshift(left % 256)
  return Buffer.from([tag, 0x80 + digits.length, ...digits])
}

/** The beginning of a value whose length is not known yet; closeEnded closes it. */
export function openEnded(tag: number): Buffer {
  return Buffer.from([tag, 0x80])
}

export function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([header(tag, length), ...parts])
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return tlv(TAG.sequence, ...parts)
}

/** SET OF in DER: members in ascending order of their encoding. */
export function setOf(parts: readonly Buffer[], tag: number = TAG.set): Buffer {
  return tlv(tag, ...parts.toSorted((a, b) => Buffer.compare(a, b)))
}

export function octetString(bytes: Uint8Array): Buffer {
  return tlv(TAG.octetString, bytes)
}

export function integer(value: number): Buffer {
  if (value < 0 || value > 127) throw new RangeError('only versions are written as numbers')
  return tlv(TAG.integer, Buffer.from([value]))
}

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...arcs] = dotted.split('.').map(Number)
  return tlv(TAG.oid, Buffer.from([first * 40 + second, ...arcs].flatMap(base128)))
}

export const NULL = Buffer.from([TAG.null, 0])

export function algorithm(dotted: string, parameters?: Uint8Array): Buffer {
  return sequence(oid(dotted), ...(parameters === undefined ? [] : [parameters]))
}

/** UTCTime until 2049, GeneralizedTime after (RFC 5652, 11.3). */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+/g, '')
  const year = date.getUTCFullYear()
  const utc = year >= 1950 && year < 2050
  return tlv(utc ? TAG.utcTime : TAG.generalizedTime, Buffer.from(utc ? digits.slice(2) : digits, 'latin1'))
}

function base128(arc: number): number[] {
  const digits = [arc % 128]
  for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
    digits.unshift(0x80 + (left % 128))
  return digits
}

/** The identifier whose octets these are; undefined when they are none. */
export function dottedOid(value: Buffer): string | undefined {
  const arcs: number[] = []
  let arc = 0
  for (const octet of value) {
    arc = arc * 128 + (octet & 0x7f)
    if (octet & 0x80) continue
    arcs.push(arc)
    arc = 0
  }
  const [first, ...rest] = arcs
  if (first === undefined || (value.at(-1)! & 0x80) !== 0) return undefined
  const top = Math.min(2, Math.floor(first / 40))
  return [top, first - top * 40, ...rest].join('.')
}

/** One definite-length value inside a buffer. */
export type Tlv = { tag: number; value: Buffer; whole: Buffer }

export function readTlv(bytes: Uint8Array, at: number = 0): Tlv {
  const buffer = asBuffer(bytes)
  const tag = buffer.readUInt8(at)
  if ((tag & 0x1f) === 0x1f) throw new RangeError('a tag number above 30')
  let length = buffer.readUInt8(at + 1)
  let start = at + 2
  if (length === 0x80) throw new RangeError('an open-ended value where a definite one is needed')
  if (length > 0x80) {
    const octets = length - 0x80
    if (octets > 4) throw new RangeError('a length of more than 4 octets')
    length = buffer.readUIntBE(start, octets)
    start += octets
  }
  const end = start + length
  if (end > buffer.length) throw new RangeError('a value longer than what holds it')
  return { tag, value: buffer.subarray(start, end), whole: buffer.subarray(at, end) }
}

export function children(value: Buffer): Tlv[] {
  const found: Tlv[] = []
  for (let at = 0; at < value.length;) {
    const child = readTlv(value, at)
    found.push(child)
    at += child.whole.length
  }
  return found
}

/** How deep values may nest that come from the other side. */
export const MAX_DEPTH = 32

/** The same value with the lengths that DER would have; a value that is DER already stays as it is. */
export function definite(bytes: Buffer): Buffer {
  const { value, next } = readDefinite(bytes, 0, 0)
  if (next !== bytes.length) throw new RangeError('octets follow the value')
  return value
}

function readDefinite(bytes: Buffer, at: number, depth: number): { value: Buffer; next: number } {
  if (depth > MAX_DEPTH) throw new RangeError('it nests too deeply')
  const tag = bytes.readUInt8(at)
  const constructed = (tag & 0x20) !== 0
  const openEnded = constructed && bytes.readUInt8(at + 1) === 0x80
  const known = openEnded ? undefined : readTlv(bytes, at)
  const end = known === undefined ? Infinity : at + known.whole.length
  if (known !== undefined && !constructed) return { value: tlv(tag, known.value), next: end }
  const parts: Buffer[] = []
  let from = known === undefined ? at + 2 : end - known.value.length
  while (openEnded ? bytes.readUInt16BE(from) !== 0 : from < end) {
    const part = readDefinite(bytes, from, depth + 1)
    parts.push(part.value)
    from = part.next
  }
  if (!openEnded && from !== end) throw new RangeError('a value longer than what holds it')
  return { value: tlv(tag, ...parts), next: openEnded ? from + 2 : end }
}
