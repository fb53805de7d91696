import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePace } from './watch.ts'

test('the rate is that of the last seconds, and says how long the rest takes', () => {
  const pace = makePace()
  const total = 100_000
  assert.equal(pace({ bytes: 0, total }, 0), undefined)
  assert.deepEqual(pace({ bytes: 10_000, total }, 1000), { rate: 10_000, leftMs: 9000 })
  // Nothing moves for a while: what was before counts no more.
  assert.equal(pace({ bytes: 10_000, total }, 6500), undefined)
  assert.deepEqual(pace({ bytes: 20_000, total }, 7500), { rate: 10_000, leftMs: 8000 })
})
