// Identifiers: UUID version 7 (RFC 9562). Sorted as text, they are in the order in which they were made.

import { randomBytes } from 'node:crypto'

let last = { at: 0, sequence: 0 }

/** Within one millisecond a counter keeps the order; this holds for one process. */
export function newId(now: number): string {
  last = now > last.at ? { at: now, sequence: 0 } : { at: last.at, sequence: last.sequence + 1 }
  const bytes = randomBytes(16)
  bytes.writeUIntBE(last.at, 0, 6)
  bytes[6] = 0x70 | ((last.sequence >> 8) & 0x0f)
  bytes[7] = last.sequence & 0xff
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Sorts before every identifier that was made at that time or later. */
export function firstIdAt(at: number): string {
  const hex = at.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}
