import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextAttemptAt } from './retry-schedule.ts'

test('attempts are spaced ever further, up to five minutes, with jitter', () => {
  assert.equal(
    nextAttemptAt(0, 1, () => 1),
    1000,
  )
  assert.equal(
    nextAttemptAt(0, 1, () => 0),
    500,
  )
  assert.equal(
    nextAttemptAt(0, 4, () => 1),
    8000,
  )
  assert.equal(
    nextAttemptAt(0, 1000, () => 1),
    300_000,
  )
})
