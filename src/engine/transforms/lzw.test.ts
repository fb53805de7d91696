import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { lzwExpand } from './lzw.ts'
import { lzwCompress } from '../../../test/support/lzw-compress.ts'
import { anySizes, nodeError, run, sampleBytes } from '../../../test/support/streams.ts'

test('any bytes in any chunks come back, across every width and several full tables', async () => {
  const samples = [
    Buffer.alloc(0),
    Buffer.from('a'),
    Buffer.alloc(3_000_000, 'ab'),
    randomBytes(1_000_000),
    sampleBytes(1_500_000),
  ]
  for (const bytes of samples)
    assert.ok((await run(await run(bytes, lzwCompress()), lzwExpand(), 999)).equals(bytes))
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ max: 3, maxLength: 5000, size: 'max' }),
      anySizes,
      async (bytes, sizes) => {
        assert.ok((await run(await run(bytes, lzwCompress(), sizes), lzwExpand(), sizes)).equals(bytes))
      },
    ),
    { numRuns: 60 },
  )
})

test('every length of one repeated octet comes back, so also the code that is used while it is made', async () => {
  for (let length = 0; length < 600; length++) {
    const bytes = Buffer.alloc(length, 'z')
    assert.ok((await run(await run(bytes, lzwCompress()), lzwExpand())).equals(bytes))
  }
})

test('text gets smaller', async () => {
  const bytes = Buffer.alloc(100_000, 'adeudo domiciliado 0042;')
  assert.ok((await run(bytes, lzwCompress())).length < 10_000)
})

test('a stream that is something else, cut, or longer than itself does not open', async () => {
  const whole = await run(sampleBytes(2000), lzwCompress())
  await assert.rejects(
    run(Buffer.from('hello world'), lzwExpand()),
    nodeError('bad_envelope', /does not begin as one/),
  )
  for (let length = 0; length < whole.length; length++)
    await assert.rejects(run(whole.subarray(0, length), lzwExpand(), 64), nodeError('bad_envelope'))
  await assert.rejects(
    run(Buffer.concat([whole, Buffer.alloc(1)]), lzwExpand()),
    nodeError('bad_envelope', /follow/),
  )
})

test('a changed octet is noticed', async () => {
  const whole = await run(sampleBytes(3000), lzwCompress())
  for (let at = 0; at < whole.length; at++) {
    const changed = Buffer.from(whole)
    changed[at]! ^= 0x41
    const bytes = await run(changed, lzwExpand()).catch((thrown: unknown) =>
      assert.ok(nodeError('bad_envelope')(thrown)),
    )
    assert.equal(bytes, undefined, `octet ${at}`)
  }
})

test('a bomb is stopped', async () => {
  const bomb = await run(Buffer.alloc(20_000_000), lzwCompress())
  await assert.rejects(run(bomb, lzwExpand({ maxOctets: 1_000_000 })), nodeError('bad_envelope'))
  await assert.rejects(run(bomb, lzwExpand({ maxRatio: 10 })), nodeError('bad_envelope'))
})
