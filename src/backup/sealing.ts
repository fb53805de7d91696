// A stream sealed with a passphrase: AES-256-GCM in pieces of 64 KiB under a key made of the passphrase by scrypt. Each
// piece has its number in its nonce, and the last one says that it is: pieces cannot be changed, exchanged, left out or
// cut off at the end without being noticed. The head is authenticated with every piece.

import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { NodeError } from '../errors.ts'

export const SEALED_MAGIC = 'ESCLUSA SEALED BACKUP 1\n'
const PIECE = 65_536
const TAG = 16
const SALT = 16
const PREFIX = 7
/** Magic, cost, salt, prefix of the nonces. */
const COST_AT = SEALED_MAGIC.length
const HEAD = COST_AT + 1 + SALT + PREFIX
/** Logarithm of scrypt's N: 128 MiB and about half a second for each guess. */
const COST = 17
const COSTS = { least: 14, most: 20 }

export async function* sealStream(
  source: AsyncIterable<Uint8Array>,
  passphrase: string,
  cost = COST,
): AsyncGenerator<Uint8Array> {
  const head = Buffer.concat([Buffer.from(SEALED_MAGIC), Buffer.of(cost), randomBytes(SALT + PREFIX)])
  const key = await keyOf(passphrase, head)
  yield head
  let counter = 0
  for await (const { piece, last } of inPieces(source, PIECE)) {
    const cipher = createCipheriv('aes-256-gcm', key, nonce(head, counter++, last)).setAAD(head)
    yield Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()])
  }
}

export async function* openStream(
  source: AsyncIterable<Uint8Array>,
  passphrase: string,
): AsyncGenerator<Uint8Array> {
  let head: Buffer | undefined
  let key: Buffer | undefined
  let counter = 0
  for await (const { piece, last } of inPieces(source, PIECE + TAG, HEAD)) {
    if (!head || !key) {
      head = Buffer.from(piece)
      if (head.length < HEAD || last) throw unopened('it ends too early')
      key = await keyOf(passphrase, head)
      continue
    }
    const decipher = createDecipheriv('aes-256-gcm', key, nonce(head, counter++, last)).setAAD(head)
    const end = piece.length - TAG
    if (end < 0) throw unopened('it ends too early')
    decipher.setAuthTag(piece.subarray(end))
    try {
      yield Buffer.concat([decipher.update(piece.subarray(0, end)), decipher.final()])
    } catch (cause) {
      // The first piece is all that there is to try a passphrase at.
      if (counter === 1) throw new NodeError('bad_use', `${SHUT}: is the passphrase right?`, { cause })
      throw unopened('it is damaged or cut off', cause)
    }
  }
}

const SHUT = 'the sealed backup does not open'

function unopened(why: string, cause?: unknown): NodeError {
  return new NodeError('damaged', `${SHUT}: ${why}`, { cause })
}

function nonce(head: Buffer, counter: number, last: boolean): Buffer {
  const bytes = Buffer.alloc(12)
  head.copy(bytes, 0, HEAD - PREFIX)
  bytes.writeUInt32BE(counter, PREFIX)
  bytes[11] = last ? 1 : 0
  return bytes
}

function keyOf(passphrase: string, head: Buffer): Promise<Buffer> {
  const cost = head[COST_AT] ?? 0
  if (cost < COSTS.least || cost > COSTS.most) throw unopened('it is damaged')
  const salt = head.subarray(COST_AT + 1, COST_AT + 1 + SALT)
  const options = { N: 2 ** cost, r: 8, p: 1, maxmem: 2 ** (cost + 11) }
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, 32, options, (failed, key) => (failed ? reject(failed) : resolve(key)))
  })
}

/** Whole pieces, the last one marked, which may be empty or short. The very first may have a length of its own. */
async function* inPieces(source: AsyncIterable<Uint8Array>, length: number, first = length) {
  let wanted = first
  let held = Buffer.alloc(0)
  for await (const chunk of source) {
    held = Buffer.concat([held, chunk])
    let from = 0
    // One octet more than a piece: otherwise it may be the last.
    for (; held.length - from > wanted; wanted = length) {
      yield { piece: held.subarray(from, from + wanted), last: false }
      from += wanted
    }
    held = held.subarray(from)
  }
  yield { piece: held, last: true }
}
