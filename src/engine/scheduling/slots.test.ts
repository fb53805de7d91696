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

/** Asks for `count` small places; those that are granted, to be given back. */
async function ask(slots: ReturnType<typeof makeSlots>, partner: string, count: number) {
  const granted: (() => void)[] = []
  for (let at = 0; at < count; at++)
    void slots.take(never, partner, 1).then((giveBack) => granted.push(giveBack))
  await nextTurn()
  return granted
}

test('a free place goes to the partner that holds the fewest, whoever asked first', async () => {
  const slots = makeSlots(1)
  const slow = await ask(slots, 'slow', 100)
  assert.equal(slow.length, 16)
  const near = await ask(slots, 'near', 20)
  assert.equal(near.length, 1, 'it had none')
  for (let at = 0; at < 9; at++) slow.shift()?.()
  await nextTurn()
  assert.deepEqual([slow.length, near.length], [8, 8])
  // Both hold the same now, so they take turns.
  for (let at = 0; at < 4; at++) slow.shift()?.()
  await nextTurn()
  assert.deepEqual([slow.length, near.length], [8, 8])
  for (const some of [near, slow])
    while (some.length > 0) {
      some.shift()?.()
      await nextTurn()
    }
  assert.equal((await ask(slots, 'near', 17)).length, 16, 'all places are free again, and no more than those')
})

test('partners whose files all hang hold up none that has no file under way, up to a bound', async () => {
  const slots = makeSlots(1)
  await ask(slots, 'hangs', 100)
  const others = await Promise.all(Array.from({ length: 150 }, (_, nth) => ask(slots, `partner ${nth}`, 2)))
  assert.deepEqual(
    others.map(({ length }) => length),
    Array.from({ length: 150 }, (_, nth) => (nth < 128 ? 1 : 0)),
  )
})
