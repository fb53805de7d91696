import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { openStream, sealStream } from './sealing.ts'

const PASSPHRASE = 'correct horse battery staple'
const PIECE = 65_536

async function* inPieces(bytes: Buffer, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

const seal = (bytes: Buffer) =>
  buffer(Readable.from(sealStream(inPieces(bytes, 10_000), PASSPHRASE, 14), { objectMode: false }))
const open = (bytes: Buffer, passphrase = PASSPHRASE) =>
  buffer(Readable.from(openStream(inPieces(bytes, 7777), passphrase), { objectMode: false }))

test('what is sealed opens again, whatever its length', async () => {
  for (const length of [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE]) {
    const bytes = randomBytes(length)
    const sealed = await seal(bytes)
    assert.deepEqual(await open(sealed), bytes)
    if (length > 100) assert.equal(sealed.includes(bytes.subarray(0, 100)), false)
  }
})

test('another passphrase, a changed octet, an exchange of pieces and any cut are noticed', async () => {
  const bytes = randomBytes(3 * PIECE + 10)
  const sealed = await seal(bytes)
  await assert.rejects(open(sealed, 'another passphrase'), {
    code: 'bad_use',
    message: /is the passphrase right/,
  })
  const head = sealed.length - (3 * (PIECE + 16) + 10 + 16)
  const at = (piece: number) => head + piece * (PIECE + 16)
  for (const octet of [5, 30, at(0) + 3, at(2) + 100, sealed.length - 1]) {
    const changed = Buffer.from(sealed)
    changed[octet] = (changed[octet] ?? 0) ^ 1
    await assert.rejects(open(changed), /does not open/, `octet ${octet}`)
  }
  for (const end of [0, 10, head, at(1) - 1, at(1), at(2), at(3), at(3) + 1, sealed.length - 1])
    await assert.rejects(open(sealed.subarray(0, end)), /does not open/, `cut at ${end}`)
  const cut = open(sealed.subarray(0, at(2)))
  await assert.rejects(cut, { code: 'damaged', message: /it is damaged or cut off/ })
  const exchanged = Buffer.concat([
    sealed.subarray(0, at(0)),
    sealed.subarray(at(1), at(2)),
    sealed.subarray(at(0), at(1)),
    sealed.subarray(at(2)),
  ])
  await assert.rejects(open(exchanged), /does not open/)
})
