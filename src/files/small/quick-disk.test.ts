import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QuickDisk } from './quick-disk.ts'

/** A disk with a clock that only its steps move. */
function clocked() {
  let now = 0
  const disk = new QuickDisk(() => now)
  return {
    disk,
    pass: (ms: number) => void (now += ms),
    step: (ms: number) => disk.do(() => void (now += ms)),
  }
}

test('a slow mount is waited for a few times, and then no more for ten seconds', () => {
  const { disk, step, pass } = clocked()
  const quick = [30, 30, 30].map((ms) => (step(ms), disk.isQuick))
  assert.deepEqual(quick, [true, true, false])
  pass(9_900)
  assert.equal(disk.isQuick, false)
  pass(100)
  assert.equal(disk.isQuick, true)
})

test('a step that takes very long is enough', () => {
  const { disk, step } = clocked()
  step(201)
  assert.equal(disk.isQuick, false)
})

test('a moment that the thread was kept waiting among many steps says nothing of the disk', () => {
  const { disk, step } = clocked()
  for (let round = 0; round < 10; round++) {
    step(30)
    for (let n = 0; n < 100; n++) step(1)
  }
  assert.equal(disk.isQuick, true)
  step(30)
  step(30)
  for (let n = 0; n < 99; n++) step(1)
  step(30)
  assert.equal(disk.isQuick, false, 'three that are not forgotten')
})

test('a step that fails counts by its time, too', () => {
  const { disk, pass } = clocked()
  assert.throws(() =>
    disk.do(() => {
      pass(300)
      throw new Error('EIO')
    }),
  )
  assert.equal(disk.isQuick, false)
})
