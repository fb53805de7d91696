// Translates between EBCDIC and ASCII (ISO 8859-1 in its full width), one octet to one octet, so that lengths and
// positions never change and every translation can be undone. Knows no records: what must not be translated (length
// prefixes) is kept out by translateCanonical in records.ts.

import type { CodePage } from '../../config.ts'
import { CODE_PAGES } from './code-pages.ts'
import { blocks, passThrough, type Step } from './step.ts'

export type Alphabet = 'EBCDIC' | 'ASCII'

export type Translation = { from: Alphabet; to: Alphabet; codePage: CodePage }

const toAscii = new Map<CodePage, Uint8Array>()
const toEbcdic = new Map<CodePage, Uint8Array>()
const pairs = new Map<Uint8Array, Uint16Array>()

/** The 256 octets that stand for 0x00 to 0xFF. Shared: not to be written to. */
export function translationTable({ from, to, codePage }: Translation): Uint8Array {
  if (from === to) return Uint8Array.from({ length: 256 }, (_, octet) => octet)
  const ready = (from === 'EBCDIC' ? toAscii : toEbcdic).get(codePage)
  if (ready !== undefined) return ready
  const forth = new Uint8Array(Buffer.from(CODE_PAGES[codePage].join(''), 'hex'))
  const back = new Uint8Array(256)
  for (const [ebcdic, ascii] of forth.entries()) back[ascii] = ebcdic
  toAscii.set(codePage, forth)
  toEbcdic.set(codePage, back)
  return from === 'EBCDIC' ? forth : back
}

/** Writes the translation of `source` to the start of `target`: another buffer, or the very same octets. */
export function translateInto(target: Uint8Array, source: Uint8Array, table: Uint8Array): void {
  if (target.byteOffset % 2 !== 0 || source.length < 256) {
    for (let i = 0; i < source.length; i++) target[i] = table[source[i]!]!
    return
  }
  // Copying first costs little and puts an odd source on the even address that 16-bit access needs.
  const aligned = source.byteOffset % 2 === 0
  if (!aligned) target.set(source)
  const whole = source.length & ~1
  const from = new Uint16Array(
    aligned ? source.buffer : target.buffer,
    aligned ? source.byteOffset : target.byteOffset,
    whole / 2,
  )
  const to = new Uint16Array(target.buffer, target.byteOffset, whole / 2)
  const pair = pairTable(table)
  for (let i = 0; i < from.length; i++) to[i] = pair[from[i]!]!
  if (whole < source.length) target[whole] = table[source[whole]!]!
}

export function translate(translation: Translation): Step {
  if (translation.from === translation.to) return passThrough
  const table = translationTable(translation)
  return async function* translated(source) {
    for await (const block of blocks(source)) {
      const out = Buffer.allocUnsafeSlow(block.length)
      translateInto(out, block, table)
      yield out
    }
  }
}

/** Two octets at a time: measured twice as fast as one. Both octets map alone, so byte order does not matter. */
function pairTable(table: Uint8Array): Uint16Array {
  let pair = pairs.get(table)
  if (pair === undefined) {
    pair = new Uint16Array(65536)
    for (let i = 0; i < 65536; i++) pair[i] = table[i & 0xff]! | (table[i >> 8]! << 8)
    pairs.set(table, pair)
  }
  return pair
}
