import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib'
import * as fc from 'fast-check'
import { deflate, gunzip, gzip, inflate } from './gzip.ts'
import { runSteps } from './step.ts'
import { anySizes, inChunks, nodeError, run, sampleBytes } from '../../../test/support/streams.ts'

test('gzip is what others read, gunzip reads what others write', async () => {
  for (const octets of [0, 1, 1_000_003]) {
    const bytes = sampleBytes(octets)
    assert.ok(gunzipSync(await run(bytes, gzip())).equals(bytes))
    assert.ok((await run(gzipSync(bytes), gunzip(), 4097)).equals(bytes))
    assert.ok((await run(deflateSync(bytes), inflate(), 4097)).equals(bytes))
    assert.ok((await run(await run(bytes, deflate()), inflate())).equals(bytes))
  }
})

test('what is done in one call and what is done in parts are the same to others', async () => {
  for (const octets of [65_535, 65_536, 65_537]) {
    const bytes = randomBytes(octets)
    assert.ok(inflateSync(await run(bytes, deflate())).equals(bytes))
    assert.ok((await run(deflateSync(bytes), inflate())).equals(bytes))
  }
  const zeros = Buffer.alloc(3_000_000)
  assert.ok((await run(deflateSync(zeros), inflate())).equals(zeros))
  await assert.rejects(run(deflateSync(zeros).subarray(0, -5), inflate()), nodeError('bad_envelope'))
})

test('any bytes in any chunks come back', async () => {
  const bytes = sampleBytes(200_000)
  await fc.assert(
    fc.asyncProperty(anySizes, anySizes, async (there, back) => {
      assert.ok((await run(await run(bytes, gzip(), there), gunzip(), back)).equals(bytes))
    }),
    { numRuns: 8 },
  )
})

test('a gzip header with name, comment, extra field and checksum is read over', async () => {
  const plain = gzipSync('hola')
  const header = Buffer.concat([
    Buffer.from([0x1f, 0x8b, 8, 2 | 4 | 8 | 16]),
    plain.subarray(4, 10),
    Buffer.from([3, 0]),
    Buffer.from('xyzname\0comment\0'),
    Buffer.from([0, 0]),
  ])
  assert.equal((await run(Buffer.concat([header, plain.subarray(10)]), gunzip())).toString(), 'hola')
})

test('a member cut anywhere does not open', async () => {
  const whole = gzipSync(sampleBytes(300))
  for (let length = 0; length < whole.length; length++)
    for (const size of [1, 1000])
      await assert.rejects(run(whole.subarray(0, length), gunzip(), size), nodeError('bad_envelope'))
})

test('nothing may follow the member: no padding, no rubbish, no second member', async () => {
  const whole = gzipSync('hola')
  for (const tail of [Buffer.alloc(1), Buffer.alloc(100_000), Buffer.from('x'), whole])
    for (const size of [1, 7, 1_000_000])
      await assert.rejects(
        run(Buffer.concat([whole, tail]), gunzip(), size),
        nodeError('bad_envelope', /follow the end/),
      )
  const zlib = Buffer.concat([deflateSync('hola'), Buffer.alloc(1)])
  for (const size of [1, 1000])
    await assert.rejects(run(zlib, inflate(), size), nodeError('bad_envelope', /follow/))
})

test('a changed octet anywhere is noticed or does no harm', async () => {
  const bytes = sampleBytes(2000)
  const whole = gzipSync(bytes)
  let noticed = 0
  for (let at = 0; at < whole.length; at++) {
    const changed = Buffer.from(whole)
    changed[at]! ^= 0x41
    const out = await run(changed, gunzip()).catch((thrown: unknown) =>
      assert.ok(nodeError('bad_envelope')(thrown)),
    )
    if (out === undefined) noticed++
    else assert.ok(out.equals(bytes), `octet ${at}`)
  }
  // Time, extra flags and system in the header mean nothing to the content, and hardly anything else says the same twice.
  assert.ok(noticed > whole.length * 0.9, `${noticed} of ${whole.length}`)
})

test('a bomb is stopped at the size or the ratio allowed', async () => {
  const bomb = gzipSync(Buffer.alloc(20_000_000))
  await assert.rejects(
    run(bomb, gunzip({ maxOctets: 5_000_000 })),
    nodeError('bad_envelope', /more than 5000000 octets/),
  )
  await assert.rejects(run(bomb, gunzip({ maxRatio: 100 })), nodeError('bad_envelope', /100 times/))
  await assert.rejects(
    run(deflateSync(Buffer.alloc(20_000_000)), inflate({ maxRatio: 100 })),
    nodeError('bad_envelope'),
  )
  assert.equal((await run(bomb, gunzip({ maxOctets: 20_000_000, maxRatio: 2000 }))).length, 20_000_000)
})

test('a fault of the source leaves as it is, not as a bad envelope', async () => {
  const fault = new Error('the disk is gone')
  const breaking = async function* breaking(bytes: Buffer): AsyncGenerator<Uint8Array> {
    yield bytes
    throw fault
  }
  const whole = gzipSync(randomBytes(200_000))
  for (const [bytes, step] of [
    [randomBytes(200_000), gzip()],
    [whole.subarray(0, 150_000), gunzip()],
    [whole, gunzip()],
  ] as const)
    await assert.rejects(
      async () => {
        for await (const _ of runSteps(breaking(bytes), [step]));
      },
      (thrown) => thrown === fault,
    )
})

test('a consumer that stops early closes the source', async () => {
  for (const step of [gzip({ level: 1 }), gunzip()]) {
    let closed = false
    const whole = gzipSync(randomBytes(3_000_000))
    const watched = async function* watched(): AsyncGenerator<Uint8Array> {
      try {
        yield* inChunks(whole, 100_000)
      } finally {
        closed = true
      }
    }
    for await (const _ of runSteps(watched(), [step])) break
    assert.ok(closed)
  }
})
