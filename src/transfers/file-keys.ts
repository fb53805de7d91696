// The names under which files are known at both ends.

import { randomInt } from 'node:crypto'

let counted = randomInt(9999)

/**
 * What names a file end to end on protocols that need it: the date, and the time with a four-digit counter. The counter
 * goes on from transfer to transfer, so two transfers in the same second do not use the same names.
 */
export function keyOf(now: number, index: number): { keyDate: string; keyTime: string } {
  const second = digitsOf(Math.floor((now + Math.floor(index / 9999) * 1000) / 1000))
  counted = (counted + 1) % 9999
  const counter = counted + 1
  return { keyDate: second.slice(0, 8), keyTime: second.slice(8) + String(counter).padStart(4, '0') }
}

let last = { second: -1, digits: '' }

/** Most files of a transfer have that of the one before. */
function digitsOf(second: number): string {
  if (last.second !== second) {
    const digits = new Date(second * 1000).toISOString().replaceAll(/[^0-9]/g, '')
    last = { second, digits: digits.slice(0, 14) }
  }
  return last.digits
}
