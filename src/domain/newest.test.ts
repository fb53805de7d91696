import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newest } from './newest.ts'

test('of more than are kept, what was set or read last stays', () => {
  const kept = newest<number>(3)
  for (const [nth, name] of ['a', 'b', 'c'].entries()) kept.set(name, nth)
  assert.equal(kept.get('a'), 0)
  kept.set('d', 3)
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((name) => kept.get(name)),
    [0, undefined, 2, 3],
  )
  kept.set('a', 9)
  assert.deepEqual([kept.get('a'), kept.size], [9, 3])
})
