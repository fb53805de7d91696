// Restart positions (RFC 5024, 1.5.4 and 5.3.3): the standard counts records (F, V) or blocks of 1024 octets (U, T and
// whatever is enveloped); the engine counts octets of the file as it lies on disk, where each V record stands behind
// its 2-octet length. A restart of a V file walks those lengths, since nothing else says where record n begins.
import type { Envelope, RecordFormat } from '../transport.ts'

const BLOCK = 1024
const WALK = 256 * 1024

/** How a file's octets become records on the wire. An enveloped file has none left. `lines`: a text, of format T. */
export type WireShape =
  | { kind: 'stream'; lines?: boolean }
  | { kind: 'fixed'; length: number }
  | { kind: 'variable'; length: number }

/** The 2-octet length in front of a V record can say no more. */
export const LONGEST_VARIABLE = 65_535

export function wireShape(format: RecordFormat, envelope: Envelope | undefined): WireShape {
  if (envelope !== undefined || format.kind === 'U') return { kind: 'stream' }
  if (format.kind === 'T') return { kind: 'stream', lines: true }
  if (format.kind === 'F') return { kind: 'fixed', length: format.recordLength }
  const longest =
    format.recordLength === 0 ? LONGEST_VARIABLE : Math.min(format.recordLength, LONGEST_VARIABLE)
  return { kind: 'variable', length: longest }
}

/** A restart point: units as the standard counts them, and the octets of the file in front of it. */
export type RestartPoint = { units: number; octets: number }

type Read = (into: Uint8Array, position: number) => Promise<number>

/** The last restart point at or before `octets` of what `read` gives; at most `units` units. */
export async function restartPoint(
  shape: WireShape,
  octets: number,
  units: number,
  read: Read,
): Promise<RestartPoint> {
  if (octets <= 0 || units <= 0) return { units: 0, octets: 0 }
  if (shape.kind === 'variable') return walkRecords(octets, units, read)
  const unit = shape.kind === 'fixed' ? shape.length : BLOCK
  const count = Math.min(units, Math.floor(octets / unit))
  return { units: count, octets: count * unit }
}

/** Octets in front of unit `units`, at most: for V, where only the receiver's own copy tells, an upper bound. */
export function octetsBefore(shape: WireShape, units: number): number {
  if (shape.kind === 'stream') return units * BLOCK
  return units * (shape.kind === 'fixed' ? shape.length : shape.length + 2)
}

/** The largest restart point of the wire at or before a position of the file that lies on a record's end. */
export function floorToUnit(shape: WireShape, octets: number): number {
  if (shape.kind === 'variable') return octets
  const unit = shape.kind === 'fixed' ? shape.length : BLOCK
  return Math.floor(octets / unit) * unit
}

async function walkRecords(octets: number, units: number, read: Read): Promise<RestartPoint> {
  const window = new Uint8Array(Math.min(WALK, octets))
  let from = 0
  let filled = 0
  let at = 0
  let count = 0
  while (count < units && at + 2 <= octets) {
    if (at + 2 > from + filled) {
      from = at
      filled = await fill(window.subarray(0, Math.min(window.length, octets - from)), from, read)
      if (filled < 2) break
    }
    const length = ((window[at - from] ?? 0) << 8) | (window[at - from + 1] ?? 0)
    if (at + 2 + length > octets) break
    at += 2 + length
    count += 1
  }
  return { units: count, octets: at }
}

async function fill(into: Uint8Array, position: number, read: Read): Promise<number> {
  let filled = 0
  while (filled < into.length) {
    const count = await read(into.subarray(filled), position + filled)
    if (count <= 0) break
    filled += count
  }
  return filled
}

/** A position of the wire as a number the file system can use. No file reaches beyond it. */
export function safeUnits(value: bigint): number {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value)
}
