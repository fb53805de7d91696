import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReceiptCalls } from './receipt-calls.ts'

test('a partner that owes receipts is called after a minute, then more and more seldom', () => {
  const calls = new ReceiptCalls()
  const called: number[] = []
  for (let second = 0; second <= 3600; second++)
    if (calls.due(['acme'], second * 1000).length > 0) called.push(second)
  assert.deepEqual(called, [60, 180, 420, 900, 1800, 2700, 3600])
  // It has sent them, and owes others later.
  assert.deepEqual(calls.due([], 3_601_000), [])
  assert.deepEqual(calls.due(['acme'], 3_602_000), [])
  assert.deepEqual(calls.due(['acme'], 3_662_000), ['acme'])
})

test('a clock that was set back by a day puts the next call off by no more than a turn', () => {
  const calls = new ReceiptCalls()
  const day = 86_400_000
  assert.deepEqual(calls.due(['acme'], day), [])
  assert.deepEqual(calls.due(['acme'], 0), ['acme'])
  assert.deepEqual(calls.due(['acme'], 60_000), [])
  assert.deepEqual(calls.due(['acme'], 120_000), ['acme'])
})
