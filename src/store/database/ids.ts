// Identifiers: UUID version 7 (RFC 9562). Sorted as text, they are in the order in which they were made.

import { randomUUID } from 'node:crypto'

let last = { at: 0, sequence: 0 }

/** Within one millisecond a counter keeps the order; this holds for one process. */
export function newId(now: number): string {
  last = now > last.at ? { at: now, sequence: 0 } : { at: last.at, sequence: last.sequence + 1 }
  const sequence = (last.sequence & 0xfff).toString(16).padStart(3, '0')
  return `${firstIdAt(last.at)}-7${sequence}-${randomEnd()}`
}

/** The last two parts of an identifier, the variant among them. Node keeps random octets ready for these alone. */
function randomEnd(): string {
  return randomUUID().slice(19)
}

/** Sorts before every identifier that was made at that time or later. */
export function firstIdAt(at: number): string {
  const hex = at.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}
