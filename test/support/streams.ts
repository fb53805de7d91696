// What the tests of transforms share: streams cut into chunks of any size, and runs of steps over them.

import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { NodeError, type ErrorCode } from '../../src/errors.ts'
import { collect, runSteps, type Step } from '../../src/engine/transforms/step.ts'

/** Cuts by the sizes given, over and over. */
export async function* inChunks(
  bytes: Uint8Array,
  sizes: number | readonly number[],
): AsyncGenerator<Uint8Array> {
  const cycle = typeof sizes === 'number' ? [sizes] : sizes
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = cycle[i % cycle.length]!
    yield bytes.subarray(at, at + size)
    at += size
  }
}

export function run(
  bytes: Uint8Array,
  steps: Step | readonly Step[],
  sizes: number | readonly number[] = 65536,
): Promise<Buffer> {
  return collect(runSteps(inChunks(bytes, sizes), typeof steps === 'function' ? [steps] : steps))
}

/** For assert.rejects: a NodeError of that code whose message matches. */
export function nodeError(code: ErrorCode, message: RegExp = /./): (thrown: unknown) => boolean {
  return (thrown) => thrown instanceof NodeError && thrown.code === code && message.test(thrown.message)
}

/** Chunk sizes that cut in awkward places. */
export const anySizes = fc.array(
  fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 200_000 })),
  {
    minLength: 1,
    maxLength: 5,
  },
)

/** Half text, half noise: compresses, but not to nothing. */
export function sampleBytes(octets: number): Buffer {
  const half = Math.floor(octets / 2)
  return Buffer.concat([Buffer.alloc(half, 'adeudo domiciliado 0042;'), randomBytes(octets - half)])
}
