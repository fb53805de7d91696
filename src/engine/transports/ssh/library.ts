// ssh2, loaded here alone, with two things of ours in its place:
//
// - A faster source of random octets. It pads every packet with a few of them by randomFillSync, whose price is one
//   call to OpenSSL each: a twentieth of all that a node does for small files. Here they are taken from a larger draw
//   of the same generator, each octet once.
// - Memory for large packets that is used again, see packet-memory.ts.

import crypto from 'node:crypto'
import { createRequire } from 'node:module'

import { lendToCipher, lendToDecipher } from './packet-memory.ts'
import type { Cipher, Decipher } from './packet-memory.ts'

const DRAWN = 16 * 1024
/** Paddings and cookies are shorter; whatever is longer is drawn for itself. */
const MOST = 32

const { randomFillSync } = crypto
const drawn = Buffer.alloc(DRAWN)
let used = DRAWN

function fillFromDrawn<T extends NodeJS.ArrayBufferView>(into: T, offset = 0, size?: number): T {
  const length = size ?? into.byteLength - offset
  if (length > MOST || !(into instanceof Uint8Array)) return randomFillSync(into, offset, length)
  if (used + length > DRAWN) {
    randomFillSync(drawn)
    used = 0
  }
  into.set(drawn.subarray(used, used + length), offset)
  used += length
  return into
}

interface Ciphers {
  createCipher(config: unknown): Cipher
  createDecipher(config: unknown): Decipher
}

/** It takes the functions it finds when it is loaded; nobody else gets these. */
function load(): typeof import('ssh2') {
  const require = createRequire(import.meta.url)
  // Without its deciphers wrapped it would keep what our sockets read and overwrite.
  if (require.cache[require.resolve('ssh2')] !== undefined)
    throw new Error('ssh2 was loaded by somebody else before: take it from ssh/library.ts')
  const given: { randomFillSync: unknown } = crypto
  given.randomFillSync = fillFromDrawn
  try {
    const ciphers = require('ssh2/lib/protocol/crypto.js') as Ciphers // not part of the package’s types
    const { createCipher, createDecipher } = ciphers
    ciphers.createCipher = (config) => lendToCipher(createCipher(config), fillFromDrawn)
    ciphers.createDecipher = (config) => lendToDecipher(createDecipher(config))
    return require('ssh2') as typeof import('ssh2') // the package’s own types
  } finally {
    given.randomFillSync = randomFillSync
  }
}

export const ssh2 = load()
