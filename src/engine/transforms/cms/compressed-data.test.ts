import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { nodeError, run, sampleBytes } from '../../../../test/support/streams.ts'
import { OID } from './algorithms.ts'
import { compress, decompress } from './compressed-data.ts'
import * as der from './der.ts'

test('what was compressed comes out, in any chunks', async () => {
  for (const octets of [0, 1, 300_000])
    for (const sizes of octets < 10 ? [1] : [[1, 65_536], 100_000]) {
      const content = sampleBytes(octets)
      const message = await run(content, compress(), sizes)
      assert.ok((await run(message, decompress(), sizes)).equals(content))
    }
})

test('a message with definite lengths is read too', async () => {
  assert.equal((await run(definite(deflateSync('hola')), decompress(), 1)).toString(), 'hola')
})

test('cut anywhere, changed or followed by anything, it does not open', async () => {
  const message = await run(Buffer.from('hola hola hola'), compress())
  for (let length = 0; length < message.length; length++)
    await assert.rejects(run(message.subarray(0, length), decompress(), 5), nodeError('bad_envelope'))
  for (const bytes of [
    Buffer.concat([message, Buffer.alloc(1)]),
    definite(deflateSync('hola').subarray(0, -1)),
    definite(Buffer.concat([deflateSync('hola'), Buffer.alloc(1)])),
    Buffer.from('plain'),
  ])
    await assert.rejects(run(bytes, decompress()), nodeError('bad_envelope'))
})

test('a bomb is stopped', async () => {
  const bomb = await run(Buffer.alloc(10_000_000), compress())
  await assert.rejects(
    run(bomb, decompress({ maxOctets: 1_000_000 })),
    nodeError('bad_envelope', /more than 1000000/),
  )
})

function definite(content: Buffer): Buffer {
  const inner = der.sequence(
    der.integer(0),
    der.algorithm(OID.zlib),
    der.sequence(der.oid(OID.data), der.tlv(der.TAG.contextConstructed(0), der.octetString(content))),
  )
  return der.sequence(der.oid(OID.compressedData), der.tlv(der.TAG.contextConstructed(0), inner))
}
