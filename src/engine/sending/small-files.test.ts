import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { byTheDozen } from './small-files.ts'

const filesOf = (sizes: readonly number[]) => sizes.map((size) => ({ size }) as TransferFileRecord)
const divided = (sizes: readonly number[], most?: number) =>
  byTheDozen(filesOf(sizes), most).map((some) => some.map(({ size }) => size))

test('files are divided in their order: 64 at the most, and of those what fits', () => {
  const many = Array<number>(130).fill(1)
  assert.deepEqual(
    divided(many).map(({ length }) => length),
    [64, 64, 2],
  )
  assert.deepEqual(divided([], 10), [])
  assert.deepEqual(divided([4, 6, 1, 9, 11, 0, 10], 10), [[4, 6], [1, 9], [11], [0, 10]])
})
