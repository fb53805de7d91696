import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { LARGEST_STREAM_BUFFER, StreamBuffers, writeStreamHeader } from './buffers.ts'
import { esidOf } from '../protocol/reasons.ts'

function framed(bodies: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    bodies.map((body) => {
      const whole = Buffer.concat([Buffer.alloc(4), body])
      writeStreamHeader(whole, 0, whole.length)
      return whole
    }),
  )
}

test('exchange buffers come out the same however the stream is cut', () => {
  const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 400 }), { maxLength: 12 })
  fc.assert(
    fc.property(bodies, fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), (all, sizes) => {
      const stream = framed(all)
      const parser = new StreamBuffers()
      const got: Buffer[] = []
      for (let at = 0, turn = 0; at < stream.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1
        parser.push(stream.subarray(at, at + size))
        at += size
        for (let next = parser.next(); next !== undefined; next = parser.next()) got.push(Buffer.from(next))
      }
      assert.deepEqual(
        got,
        all.map((body) => Buffer.from(body)),
      )
      assert.equal(parser.buffered, 0)
    }),
  )
})

test('whoever takes a few and keeps the rest may read into the same place again', () => {
  const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 400 }), { maxLength: 12 })
  const turns = fc.array(fc.record({ size: fc.integer({ min: 1, max: 300 }), takes: fc.nat(3) }), {
    minLength: 1,
  })
  fc.assert(
    fc.property(bodies, turns, (all, given) => {
      const stream = framed(all)
      const parser = new StreamBuffers()
      const got: Buffer[] = []
      const take = (most: number) => {
        for (let next = parser.next(); next !== undefined; next = parser.next()) {
          got.push(Buffer.from(next))
          if (--most <= 0) return
        }
      }
      const place = Buffer.alloc(300)
      for (let at = 0, turn = 0; at < stream.length; turn += 1) {
        const { size = 1, takes = 1 } = given[turn % given.length] ?? {}
        const length = stream.copy(place, 0, at, at + size)
        parser.push(place.subarray(0, length))
        if (takes > 0) take(takes)
        parser.keepRest()
        place.fill(0xee)
        at += length
      }
      take(Infinity)
      assert.deepEqual(
        got,
        all.map((body) => Buffer.from(body)),
      )
      assert.equal(parser.buffered, 0)
    }),
  )
})

test('a header-only buffer is skipped', () => {
  const parser = new StreamBuffers()
  parser.push(Buffer.concat([Buffer.from([0x10, 0, 0, 4]), framed([Buffer.from('R')])]))
  assert.deepEqual(parser.next(), Buffer.from('R'))
  assert.equal(parser.next(), undefined)
})

test('an exchange buffer that lies whole in a chunk is not copied', () => {
  const parser = new StreamBuffers()
  const chunk = framed([Buffer.from('HELLO')])
  parser.push(chunk)
  const body = parser.next()
  assert.equal(body?.buffer, chunk.buffer)
})

test('a wrong version, a length under the header and one over the limit are faults', () => {
  const broken: [number[], string][] = [
    [[0x20, 0, 0, 5], '01'],
    [[0x16, 3, 1, 2], '01'],
    [[0x10, 0, 0, 3], '07'],
    [[0x10, 1, 0x86, 0xa4], '07'],
    [[0x10, 0xff, 0xff, 0xff], '07'],
  ]
  for (const [header, reason] of broken) {
    const parser = new StreamBuffers()
    parser.push(Uint8Array.from(header))
    assert.throws(
      () => parser.next(),
      (error) => esidOf(error) === reason,
    )
  }
  assert.equal(LARGEST_STREAM_BUFFER, 0x186a3)
})
