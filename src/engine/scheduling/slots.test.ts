import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { NodeError } from '../../errors.ts'
import { makeSlots } from './slots.ts'

const never = new AbortController().signal
const BIG = 100 * 1024 * 1024

test('no more than so many at once, in the order they asked', async () => {
  const slots = makeSlots(2)
  const order: number[] = []
  let now = 0
  let most = 0
  await Promise.all(
    [1, 2, 3, 4, 5].map(async (one) => {
      const giveBack = await slots.take(never, 'acme', BIG)
      order.push(one)
      most = Math.max(most, ++now)
      await new Promise((resolve) => setImmediate(resolve))
      now--
      giveBack()
      giveBack()
    }),
  )
  assert.deepEqual(order, [1, 2, 3, 4, 5])
  assert.equal(most, 2)
})

test('whoever is aborted while waiting is out, and its place goes to the next', async () => {
  const slots = makeSlots(1)
  const giveBack = await slots.take(never, 'acme', BIG)
  const stop = new AbortController()
  const aborted = slots.take(stop.signal, 'acme', BIG)
  const next = slots.take(never, 'acme', BIG)
  stop.abort(new NodeError('cancelled', 'reset'))
  await assert.rejects(aborted, { code: 'cancelled' })
  giveBack()
  ;(await next)()
  await assert.rejects(slots.take(stop.signal, 'acme', BIG), { code: 'cancelled' })
})

test('a place held for long no longer counts, and is not given back twice', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const slots = makeSlots(1)
  const long = await slots.take(never, 'acme', BIG)
  const granted: string[] = []
  const second = slots.take(never, 'acme', BIG)
  void second.then(() => granted.push('second'))
  t.mock.timers.tick(4999)
  await nextTurn()
  assert.equal(granted.length, 0)
  t.mock.timers.tick(2)
  const giveBack = await second
  long()
  const third = slots.take(never, 'acme', BIG)
  void third.then(() => granted.push('third'))
  await nextTurn()
  assert.deepEqual(granted, ['second'], 'the long one made room twice')
  giveBack()
  ;(await third)()
})

test('small files share a place, and a big one that waits is not passed by for ever', async () => {
  const slots = makeSlots(1)
  const small = await Promise.all(Array.from({ length: 16 }, () => slots.take(never, 'acme', 1)))
  const granted: string[] = []
  const big = slots.take(never, 'acme', BIG)
  void big.then(() => granted.push('big'))
  const late = slots.take(never, 'acme', 1)
  void late.then(() => granted.push('late'))
  small.pop()?.()
  await nextTurn()
  assert.equal(granted.length, 0, 'the late one went before the big one')
  for (const giveBack of small) giveBack()
  ;(await big)()
  ;(await late)()
  assert.deepEqual(granted, ['big', 'late'])
})

test('a free place goes to the partner that holds the fewest, whoever asked first', async () => {
  const slots = makeSlots(1)
  const slow: (() => void)[] = []
  for (let at = 0; at < 100; at++) void slots.take(never, 'slow', 1).then((giveBack) => slow.push(giveBack))
  await nextTurn()
  assert.equal(slow.length, 16)
  const near: (() => void)[] = []
  for (let at = 0; at < 20; at++) void slots.take(never, 'near', 1).then((giveBack) => near.push(giveBack))
  for (let at = 0; at < 8; at++) slow.shift()?.()
  await nextTurn()
  assert.deepEqual([slow.length, near.length], [8, 8])
  // Both hold the same now, so they take turns.
  for (let at = 0; at < 4; at++) slow.shift()?.()
  await nextTurn()
  assert.deepEqual([slow.length, near.length], [8, 8])
  while (near.length > 0) {
    near.shift()?.()
    await nextTurn()
  }
  while (slow.length > 0) {
    slow.shift()?.()
    await nextTurn()
  }
  const all = await Promise.all(Array.from({ length: 16 }, () => slots.take(never, 'near', 1)))
  assert.equal(all.length, 16)
})
