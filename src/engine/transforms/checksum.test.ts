import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { crc32Meter, digestMeter, sha256Meter } from './checksum.ts'
import { runSteps } from './step.ts'
import { inChunks, run } from '../../../test/support/streams.ts'

test('a meter lets bytes through and knows their number and hash at the end', async () => {
  const bytes = randomBytes(100_003)
  const sha256 = sha256Meter()
  const sha512 = digestMeter('sha512')
  assert.ok((await run(bytes, [sha256.step, sha512.step], [1, 999, 65536])).equals(bytes))
  assert.equal(sha256.octets, bytes.length)
  assert.equal(sha256.hex, createHash('sha256').update(bytes).digest('hex'))
  assert.equal(sha512.hex, createHash('sha512').update(bytes).digest('hex'))
})

test('the CRC-32 of the check string is the published one', async () => {
  const crc = crc32Meter()
  await run(Buffer.from('123456789'), crc.step, 2)
  assert.equal(crc.hex, 'cbf43926')
})

test('an empty stream has the hash of nothing, a cut one has none', async () => {
  const whole = sha256Meter()
  await run(Buffer.alloc(0), whole.step)
  assert.equal(whole.hex, createHash('sha256').digest('hex'))
  const cut = sha256Meter()
  for await (const _ of runSteps(inChunks(Buffer.alloc(10), 1), [cut.step])) break
  assert.equal(cut.hex, undefined)
  assert.equal(cut.octets, 1)
})
