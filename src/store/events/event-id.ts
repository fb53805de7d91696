// An event's identifier: a UUID of version 7 (RFC 9562) whose 42-bit counter is the event's position. So ids sort like
// positions, and the position can be read from the id. Between platforms they differ by time and 32 random bits.

import { randomBytes } from 'node:crypto'

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** `at` must never be less than that of an earlier position. */
export function makeEventId(at: number, position: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(at, 0, 6)
  const high = Math.floor(position / 2 ** 30) % 2 ** 12
  bytes.writeUInt16BE(0x7000 | high, 6)
  bytes.writeUInt32BE((0x80000000 | (position % 2 ** 30)) >>> 0, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** undefined: not one of these. */
export function positionOf(id: string): number | undefined {
  if (!ID.test(id)) return undefined
  const hex = id.replaceAll('-', '')
  const high = Number.parseInt(hex.slice(13, 16), 16)
  const low = Number.parseInt(hex.slice(16, 24), 16) & 0x3fffffff
  return high * 2 ** 30 + low
}
