import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { LazyTimer } from './lazy-timer.ts'

/** Counts what was due; `first` resolves with when that was for the first time. */
function counting() {
  const first = Promise.withResolvers<number>()
  const counted = { due: 0, first: first.promise }
  const timer = new LazyTimer(() => {
    counted.due += 1
    first.resolve(performance.now())
  })
  return { timer, counted }
}

test('a timer that is put off is due that much later, and once', async () => {
  const { timer, counted } = counting()
  // Long enough that no busy machine sleeps over the time between its start and the putting off.
  timer.start(1000)
  await delay(25)
  const putOffAt = performance.now()
  timer.putOff()
  const dueAt = await counted.first
  assert.ok(dueAt - putOffAt >= 1000, `${dueAt - putOffAt} ms after it was put off`)
  timer.putOff()
  await delay(1100)
  assert.equal(counted.due, 1)
})

test('a timer that is started for sooner is due sooner', async () => {
  const { timer, counted } = counting()
  timer.start(60_000)
  const startedAt = performance.now()
  timer.start(10)
  assert.ok((await counted.first) - startedAt < 30_000)
})

test('a timer that stands still is not due, and can be started again', async () => {
  const { timer, counted } = counting()
  timer.start(10)
  timer.stop()
  timer.putOff()
  await delay(40)
  assert.equal(counted.due, 0)
  timer.start(1)
  await counted.first
  timer.start(10)
  timer.end()
  await delay(30)
  assert.equal(counted.due, 1)
})

test('a timer for longer than Node can count does not look every millisecond', async (t) => {
  const warnings: string[] = []
  const note = ({ name }: Error) => void warnings.push(name)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  const { timer, counted } = counting()
  timer.start(2 ** 31 * 1000)
  // Node warns in the next turn of the event loop.
  await delay(30)
  timer.end()
  assert.deepEqual([counted.due, warnings], [0, []])
})
