import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { blocks, collect, Packer, passThrough, runSteps, type Step } from './step.ts'
import { anySizes, inChunks } from '../../../test/support/streams.ts'

test('blocks keep the bytes, and none but the last is short', async () => {
  const bytes = randomBytes(150_000)
  await fc.assert(
    fc.asyncProperty(anySizes, fc.integer({ min: 1, max: 100_000 }), async (sizes, least) => {
      const got: Buffer[] = []
      for await (const block of blocks(inChunks(bytes, sizes), least)) got.push(block)
      assert.ok(Buffer.concat(got).equals(bytes))
      assert.ok(got.slice(0, -1).every((block) => block.length >= least))
    }),
    { numRuns: 20 },
  )
})

test('a long chunk goes through blocks uncopied', async () => {
  const chunk = randomBytes(100_000)
  const got: Buffer[] = []
  for await (const block of blocks(inChunks(chunk, 100_000))) got.push(block)
  assert.equal(got.length, 1)
  assert.equal(got[0]!.buffer, chunk.buffer)
})

test('the packer keeps order and makes few chunks of many pieces', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 30 }), (lengths) => {
      const packer = new Packer()
      const pieces = lengths.map((length) => randomBytes(length))
      for (const piece of pieces) {
        packer.add(piece)
        packer.octet(7)
      }
      const all = Buffer.concat(pieces.flatMap((piece) => [piece, Buffer.from([7])]))
      assert.ok(Buffer.concat(packer.finish()).equals(all))
    }),
  )
  const packer = new Packer()
  for (let i = 0; i < 100_000; i++) packer.octet(i & 0xff)
  assert.equal(packer.finish().length, 2)
})

function adding(octet: number): Step {
  return async function* added(source) {
    yield* source
    yield Buffer.from([octet])
  }
}

test('steps run in their order', async () => {
  const out = await collect(runSteps(inChunks(Buffer.from([1]), 1), [adding(2), passThrough, adding(3)]))
  assert.deepEqual([...out], [1, 2, 3])
})

test('a source is asked for no more than its consumer takes', async () => {
  let asked = 0
  const source = async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      asked++
      yield randomBytes(70_000)
    }
  }
  for await (const _ of blocks(source())) break
  assert.equal(asked, 1)
})
