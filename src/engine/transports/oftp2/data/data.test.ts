import assert from 'node:assert/strict'
import test from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import * as fc from 'fast-check'
import { BlockReader } from './block-reader.ts'
import { StreamBuffers } from './buffers.ts'
import { DataDecoder } from './decode.ts'
import { blockSize, DataEncoder } from './encode.ts'
import type { WireShape } from '../restart.ts'
import { restartPoint } from '../restart.ts'
import { noise, variableRecords } from '../../../../../test/support/oftp2/ends.ts'
import { WorkspacePool } from './workspace.ts'

const pool = new WorkspacePool()

type Way = {
  shape: WireShape
  bufferSize: number
  packed: boolean
  credit: number
  from?: { position: number; records: number }
}

function sourceOf(content: Buffer) {
  return { size: content.length, read: async (into: Uint8Array, at: number) => content.copy(into, 0, at) }
}

/** The exchange buffers that carry a file. */
async function encoded(content: Buffer, way: Way): Promise<{ buffers: Buffer[]; encoder: DataEncoder }> {
  const workspace = pool.borrow()
  const { shape, bufferSize, packed, credit, from = { position: 0, records: 0 } } = way
  const encoder = new DataEncoder(workspace.kernel, { shape, bufferSize, packed, ...from })
  const reader = new BlockReader(sourceOf(content), workspace, {
    position: from.position,
    blockSize: blockSize(shape, bufferSize, packed),
  })
  const parser = new StreamBuffers()
  const buffers: Buffer[] = []
  for (let leftOver = 0, last = false; !last; leftOver = encoder.leftOver) {
    const block = await reader.next(leftOver)
    last = block.last
    encoder.load(block)
    while (encoder.more()) {
      const [, , region] = workspace.regions
      const filled = encoder.writeBuffers(region, credit)
      assert.ok(filled.buffers >= 1 && filled.buffers <= credit)
      parser.push(Buffer.from(workspace.kernel.memory.subarray(region.start, filled.end)))
      for (let next = parser.next(); next !== undefined; next = parser.next()) buffers.push(Buffer.from(next))
    }
  }
  pool.giveBack(workspace)
  assert.ok(buffers.every((one) => one.length <= bufferSize && one.length > 1 && one[0] === 0x44))
  return { buffers, encoder }
}

/** A file in memory; `slow` makes each write wait, so that the decoder runs out of regions. */
function file(size: number, slow: boolean) {
  const bytes = Buffer.alloc(size)
  const positions: number[] = []
  let writing = 0
  return {
    bytes,
    positions,
    write: async (chunk: Uint8Array, position: number) => {
      writing += 1
      assert.equal(writing, 1, 'one write at a time')
      if (slow) await nextTurn()
      bytes.set(chunk, position)
      positions.push(position)
      writing -= 1
    },
  }
}

async function decoded(buffers: readonly Buffer[], way: Way, size: number, slow = false) {
  const workspace = pool.borrow()
  const target = file(size, slow)
  const decoder = new DataDecoder(workspace, way.shape, way.from ?? { position: 0, records: 0 }, target.write)
  for (const one of buffers) await decoder.feed(one)
  await decoder.flush()
  pool.giveBack(workspace)
  assert.deepEqual(
    target.positions,
    target.positions.toSorted((a, b) => a - b),
  )
  return { bytes: target.bytes, decoder }
}

const ways = fc.record({
  bufferSize: fc.oneof(
    fc.integer({ min: 128, max: 400 }),
    fc.integer({ min: 128, max: 99_999 }),
    fc.constant(99_999),
  ),
  packed: fc.boolean(),
  credit: fc.integer({ min: 1, max: 999 }),
})

const octets = (...records: string[]) =>
  Buffer.concat(
    ['D', ...records.flatMap((one) => [Buffer.from([0x80 | one.length]), one])].map((part) =>
      Buffer.from(part),
    ),
  )

test('ends inside a text become line ends, once, and are not counted; one at its end is the file’s', async () => {
  const texts: [string[][], string, number][] = [
    [[['hello', 'world']], 'hello\r\nworld\r\n', 10],
    [[['hello'], ['world']], 'hello\r\nworld\r\n', 10],
    [[['hello\r\n', 'world\n']], 'hello\r\nworld\n', 13],
    [[['a', '', '', 'b']], 'a\r\n\r\n\r\nb\r\n', 2],
    [[['whole']], 'whole', 5],
    [[['']], '', 0],
  ]
  for (const [buffers, text, transmitted] of texts) {
    const workspace = pool.borrow()
    const target = file(100, false)
    const start = { position: 0, records: 0 }
    const decoder = new DataDecoder(workspace, { kind: 'stream', lines: true }, start, target.write)
    for (const records of buffers) await decoder.feed(octets(...records))
    await decoder.endOfFile()
    await decoder.flush()
    assert.equal(target.bytes.subarray(0, decoder.size).toString(), text)
    assert.equal(decoder.transmitted, transmitted)
    pool.giveBack(workspace)
  }
})

test('a text of more lines than a region holds has all its ends', async () => {
  const workspace = pool.borrow()
  const lines = 30_000
  const target = file(lines * 65, true)
  const start = { position: 0, records: 0 }
  const decoder = new DataDecoder(workspace, { kind: 'stream', lines: true }, start, target.write)
  const line = 'x'.repeat(63)
  for (let at = 0; at < lines; at += 1000) await decoder.feed(octets(...Array<string>(1000).fill(line)))
  await decoder.endOfFile()
  await decoder.flush()
  assert.deepEqual([decoder.size, decoder.transmitted], [lines * 65, lines * 63])
  assert.equal(target.bytes.toString(), `${line}\r\n`.repeat(lines))
  pool.giveBack(workspace)
})

test('an unstructured file ends once: data behind that end is a protocol fault, an empty sub-record is not', () => {
  const feed = (...buffers: Buffer[]) => {
    const workspace = pool.borrow()
    const start = { position: 0, records: 0 }
    const decoder = new DataDecoder(workspace, { kind: 'stream' }, start, file(100, false).write)
    for (const one of buffers) void decoder.feed(one)
    pool.giveBack(workspace)
    return decoder.size
  }
  assert.throws(() => feed(octets('hello', 'world')), /behind the end/)
  assert.throws(() => feed(octets('hello'), octets('world')), /behind the end/)
  assert.equal(feed(octets('hello', '')), 5)
})

test('streams of any length come back whole through buffers of any size', async () => {
  await fc.assert(
    fc.asyncProperty(
      ways,
      fc.oneof(fc.nat(5_000), fc.nat(1_300_000)),
      fc.nat(99),
      async (way, length, seed) => {
        const content = noise(length, seed + 1)
        const full: Way = { ...way, shape: { kind: 'stream' } }
        const { buffers, encoder } = await encoded(content, full)
        const { bytes, decoder } = await decoded(buffers, full, length)
        assert.ok(bytes.equals(content))
        assert.equal(decoder.size, length)
        assert.equal(encoder.position, length)
      },
    ),
    { numRuns: 60 },
  )
})

test('fixed records come back whole, and are counted', async () => {
  const lengths = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 99_999 }))
  await fc.assert(
    fc.asyncProperty(ways, lengths, fc.nat(60), async (way, length, count) => {
      const content = noise(length * count, length)
      const full: Way = { ...way, shape: { kind: 'fixed', length } }
      const { buffers, encoder } = await encoded(content, full)
      const { bytes, decoder } = await decoded(buffers, full, content.length)
      assert.ok(bytes.equals(content))
      assert.deepEqual(
        [encoder.records, decoder.records, decoder.size, decoder.inRecord],
        [count, count, content.length, false],
      )
    }),
    { numRuns: 60 },
  )
})

test('variable records come back whole, and are counted', async () => {
  const lengths = fc.oneof(fc.nat(200), fc.nat(65_535))
  await fc.assert(
    fc.asyncProperty(ways, lengths, fc.nat(120), async (way, longest, count) => {
      const content = variableRecords(count, longest, 13)
      const full: Way = { ...way, shape: { kind: 'variable', length: longest } }
      const { buffers, encoder } = await encoded(content, full)
      const { bytes, decoder } = await decoded(buffers, full, content.length)
      assert.ok(bytes.equals(content))
      assert.deepEqual([encoder.records, decoder.records, decoder.size], [count, count, content.length])
    }),
    { numRuns: 60 },
  )
})

test('a file resumed at any restart point continues exactly there', async () => {
  const kinds = fc.constantFrom<WireShape>(
    { kind: 'stream' },
    { kind: 'fixed', length: 77 },
    { kind: 'variable', length: 300 },
  )
  await fc.assert(
    fc.asyncProperty(ways, kinds, fc.nat(40_000), async (way, shape, held) => {
      const content = shape.kind === 'variable' ? variableRecords(150, 300) : noise(77 * 400)
      const point = await restartPoint(
        shape,
        Math.min(held, content.length),
        Number.MAX_SAFE_INTEGER,
        sourceOf(content).read,
      )
      const full: Way = {
        ...way,
        shape,
        from: { position: point.octets, records: shape.kind === 'stream' ? 0 : point.units },
      }
      const { buffers, encoder } = await encoded(content, full)
      const { bytes, decoder } = await decoded(buffers, full, content.length)
      assert.ok(bytes.subarray(point.octets).equals(content.subarray(point.octets)))
      assert.equal(decoder.size, content.length)
      assert.equal(encoder.records, decoder.records)
    }),
    { numRuns: 100 },
  )
})

test('data that unpacks to far more than it was waits for a slow file', async () => {
  const content = Buffer.alloc(9_000_000, 0x20)
  const way: Way = { shape: { kind: 'stream' }, bufferSize: 99_999, packed: true, credit: 64 }
  const { buffers } = await encoded(content, way)
  assert.ok(buffers.reduce((sum, one) => sum + one.length, 0) < content.length / 30)
  const { bytes } = await decoded(buffers, way, content.length, true)
  assert.ok(bytes.equals(content))
})

test('a failing file shows at the next wait, and nowhere else', async () => {
  const workspace = pool.borrow()
  const decoder = new DataDecoder(workspace, { kind: 'stream' }, { position: 0, records: 0 }, () =>
    Promise.reject(new Error('full')),
  )
  const way: Way = { shape: { kind: 'stream' }, bufferSize: 99_999, packed: false, credit: 64 }
  const { buffers } = await encoded(noise(500_000), way)
  for (const one of buffers) await decoder.feed(one)
  await assert.rejects(decoder.flush(), /full/)
  await decoder.settle()
  pool.giveBack(workspace)
})

test('long variable records that span blocks, buffers and regions come back whole', async () => {
  for (const bufferSize of [300, 99_999])
    for (const packed of [false, true]) {
      const content = variableRecords(100, 65_535, 40_000)
      const way: Way = { shape: { kind: 'variable', length: 65_535 }, bufferSize, packed, credit: 5 }
      const { buffers } = await encoded(content, way)
      const { bytes, decoder } = await decoded(buffers, way, content.length)
      assert.ok(content.length > 3_000_000 && bytes.equals(content))
      assert.equal(decoder.records, 100)
    }
})
