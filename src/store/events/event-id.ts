// An event's identifier: a UUID of version 7 (RFC 9562) whose 42-bit counter is the event's position. So ids sort like
// positions, and the position can be read from the id. Between platforms they differ by time and 32 random bits.

import { randomUUID } from 'node:crypto'

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** `at` must never be less than that of an earlier position. */
export function makeEventId(at: number, position: number): string {
  const time = hex(at, 12)
  const high = hex(Math.floor(position / 2 ** 30) % 2 ** 12, 3)
  const low = hex(2 ** 31 + (position % 2 ** 30), 8)
  // Node keeps random octets ready for UUIDs alone.
  const random = randomUUID().slice(28)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${high}-${low.slice(0, 4)}-${low.slice(4)}${random}`
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}

/** undefined: not one of these. */
export function positionOf(id: string): number | undefined {
  if (!ID.test(id)) return undefined
  const hex = id.replaceAll('-', '')
  const high = Number.parseInt(hex.slice(13, 16), 16)
  const low = Number.parseInt(hex.slice(16, 24), 16) & 0x3fffffff
  return high * 2 ** 30 + low
}
