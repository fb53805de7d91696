// Random octets for the padding of packets, taken from a larger draw of the same generator, each octet once. Asking
// OpenSSL for the few of each packet costs a tenth of all that a node does for small files.

import { randomFillSync } from 'node:crypto'

const DRAWN = 16 * 1024

const drawn = Buffer.alloc(DRAWN)
let used = DRAWN

/** Padding is shorter than the draw by far (RFC 4253, 6: 255 octets at most). */
export function fillPadding(into: Buffer, offset: number, length: number): void {
  if (used + length > DRAWN) {
    randomFillSync(drawn)
    used = 0
  }
  drawn.copy(into, offset, used, used + length)
  used += length
}
