import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTryAt, PAUSES_MS } from './delivery-schedule.ts'

test('a delivery is tried ten times: after 5 s, 5 and 30 min, 2, 5, 10, 14, 20 and 24 h, with up to a fifth more', () => {
  const least = Array.from({ length: 10 }, (_, nth) => nextTryAt(0, nth + 1, () => 0))
  const minutes = least.map((ms) => (ms === undefined ? undefined : ms / 60_000))
  assert.deepEqual(minutes, [5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440, undefined])
  for (const [nth, pause] of PAUSES_MS.entries())
    assert.equal(
      nextTryAt(7, nth + 1, () => 1),
      7 + pause * 1.2,
    )
})
