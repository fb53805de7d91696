import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { ALWAYS_KEPT, LOOK_AFTER_MS, WorkspacePool } from './workspace.ts'

const borrowed = (pool: WorkspacePool, count: number) => Array.from({ length: count }, () => pool.borrow())

test('as many as are at work at once are made once, and let go when they are no longer needed', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const pool = new WorkspacePool()
    const made = borrowed(pool, 12)
    for (let round = 0; round < 3; round++) {
      for (const one of made) pool.giveBack(one)
      mock.timers.tick(LOOK_AFTER_MS - 1)
      assert.deepEqual(new Set(borrowed(pool, 12)), new Set(made), `round ${round}`)
    }
    for (const one of made) pool.giveBack(one)
    // The first look finds that all were needed since the one before it, the second that none was.
    mock.timers.tick(LOOK_AFTER_MS)
    mock.timers.tick(LOOK_AFTER_MS)
    const again = borrowed(pool, 12).filter((one) => made.includes(one))
    assert.equal(again.length, ALWAYS_KEPT)
  } finally {
    mock.timers.reset()
  }
})
