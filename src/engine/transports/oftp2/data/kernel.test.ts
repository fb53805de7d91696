import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import * as fc from 'fast-check'
import type { Kernel } from './kernel.ts'
import { DECODE_MODE, DECODED, REGISTER } from './kernel.ts'
import { referenceKernel } from './kernel-reference.ts'
import { createKernel } from './kernel-wasm.ts'

const SOURCE = 1024
const TARGET = 131072
const SIZE = 512 * 1024

const vector = (name: string) =>
  readFileSync(join(import.meta.dirname, 'vectors', `rfc5024-appendixA.${name}.bin`))

type Encoded = { wire: Buffer; taken: number }

function encode(kernel: Kernel, data: Uint8Array, room: number, packed: boolean, flag = 0x80): Encoded {
  kernel.memory.fill(0xee)
  kernel.memory.set(data, SOURCE)
  const run = packed ? kernel.encodePacked : kernel.encodePlain
  const end = run(SOURCE, SOURCE + data.length, TARGET, TARGET + room, flag)
  const taken = (kernel.registers[REGISTER.source] ?? 0) - SOURCE
  return { wire: Buffer.from(kernel.memory.subarray(TARGET, end)), taken }
}

type Decoded = { status: number; data: Buffer; taken: number; fill: number; records: number }

function decode(kernel: Kernel, wire: Uint8Array, room: number, mode: 0 | 1 | 2, length: number): Decoded {
  kernel.memory.fill(0xee)
  kernel.memory.set(wire, SOURCE)
  kernel.registers.fill(0)
  const status = kernel.decode(SOURCE, SOURCE + wire.length, TARGET, TARGET + room, mode, length)
  const [source = 0, target = 0, fill = 0, records = 0] = kernel.registers
  const front = mode === DECODE_MODE.variable ? 2 : 0
  // The place kept for the length of the record still open holds nothing yet.
  if (mode === DECODE_MODE.variable) kernel.memory.fill(0, target - fill - 2, target - fill)
  return {
    status,
    data: Buffer.from(kernel.memory.subarray(TARGET - front, target)),
    taken: source - SOURCE,
    fill,
    records,
  }
}

const fast = createKernel(SIZE)
const plain = referenceKernel(SIZE)

/** Octets with runs, so that compression has something to find. */
const runs = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 1, max: 150 }), fc.boolean()), {
    maxLength: 30,
  })
  .map((parts) =>
    Buffer.concat(
      parts.map(([octet, count, same]) =>
        Buffer.from(
          Array.from({ length: same ? count : count % 7 }, (_, at) => (same ? octet : octet + at * 3)),
        ),
      ),
    ),
  )
  .filter((data) => data.length > 0)

test('the fast kernel is WebAssembly here', () => {
  assert.notEqual(fast.encodePlain.toString(), plain.encodePlain.toString())
  assert.match(fast.encodePlain.toString(), /native code/)
})

for (const [title, kernel] of [
  ['WebAssembly', fast],
  ['reference', plain],
] as const) {
  test(`the ${title} kernel builds the exchange buffer of the standard’s Appendix A, and reads it`, () => {
    const wire = vector('wire')
    const file = vector('file')
    const made = encode(kernel, file, 99_998, false)
    assert.deepEqual(made, { wire: wire.subarray(1), taken: file.length })
    const read = decode(kernel, wire.subarray(1), 4096, DECODE_MODE.stream, 0)
    assert.equal(read.status, DECODED.ended)
    assert.deepEqual(read.data, file)
  })
}

test('both kernels encode the same octets the same way, in any room', () => {
  fc.assert(
    fc.property(
      runs,
      fc.integer({ min: 0, max: 5000 }),
      fc.boolean(),
      fc.constantFrom(0, 0x80),
      (data, room, packed, flag) => {
        assert.deepEqual(encode(fast, data, room, packed, flag), encode(plain, data, room, packed, flag))
      },
    ),
    { numRuns: 2000 },
  )
})

test('both kernels decode the same octets the same way, sound or not', () => {
  const wire = fc.oneof(
    fc.uint8Array({ maxLength: 500 }),
    runs.map((data) => encode(plain, data, 9000, true).wire),
  )
  fc.assert(
    fc.property(
      wire,
      fc.integer({ min: 0, max: 9000 }),
      fc.constantFrom(0, 1, 2),
      fc.nat(200),
      (bytes, room, mode, length) => {
        assert.deepEqual(decode(fast, bytes, room, mode, length), decode(plain, bytes, room, mode, length))
      },
    ),
    { numRuns: 3000 },
  )
})

test('what is encoded decodes to the same octets', () => {
  fc.assert(
    fc.property(runs, fc.boolean(), (data, packed) => {
      const { wire, taken } = encode(fast, data, 20_000, packed)
      assert.equal(taken, data.length)
      assert.deepEqual(decode(fast, wire, 20_000, DECODE_MODE.stream, 0).data, data)
    }),
    { numRuns: 500 },
  )
})

test('compression pays for runs of three and never grows a run of one octet', () => {
  assert.deepEqual(encode(fast, Buffer.alloc(63, 7), 100, true).wire, Buffer.from([0xff, 7]))
  assert.deepEqual(encode(fast, Buffer.from([7, 7, 7]), 100, true).wire, Buffer.from([0xc3, 7]))
  assert.deepEqual(encode(fast, Buffer.from([7, 7]), 100, true).wire, Buffer.from([0x82, 7, 7]))
  assert.deepEqual(
    encode(fast, Buffer.from([1, 2, 9, 9, 9, 3]), 100, true).wire,
    Buffer.from([2, 1, 2, 0x43, 9, 0x81, 3]),
  )
})

test('variable records come out behind their lengths, empty ones too', () => {
  const read = decode(
    fast,
    Buffer.from([0x82, 65, 66, 0x80, 0x01, 67, 0x81, 68]),
    4096,
    DECODE_MODE.variable,
    10,
  )
  assert.deepEqual(read.data.subarray(0, -2), Buffer.from([0, 2, 65, 66, 0, 0, 0, 2, 67, 68]))
  assert.equal(read.records, 3)
})

test('a sub-record that reaches past its exchange buffer is malformed', () => {
  assert.equal(decode(fast, Buffer.from([5, 1, 2]), 4096, DECODE_MODE.stream, 0).status, DECODED.malformed)
  assert.equal(decode(fast, Buffer.from([0x45]), 4096, DECODE_MODE.stream, 0).status, DECODED.malformed)
})

test('the end of the one record of a stream is told, wherever it lies', () => {
  for (const kernel of [fast, plain]) {
    const read = decode(kernel, Buffer.from([0x81, 65, 0x01, 66]), 4096, DECODE_MODE.stream, 0)
    assert.deepEqual([read.status, read.taken, read.data.toString()], [DECODED.ended, 2, 'A'])
  }
})

test('a record of the wrong length is told', () => {
  assert.equal(
    decode(fast, Buffer.from([0x82, 1, 2]), 4096, DECODE_MODE.fixed, 3).status,
    DECODED.wrongLength,
  )
  assert.equal(
    decode(fast, Buffer.from([0x84, 1, 2, 3, 4]), 4096, DECODE_MODE.variable, 3).status,
    DECODED.wrongLength,
  )
})
