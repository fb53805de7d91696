import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PartnersTurn } from './partners-turn.ts'

/** A partner whose turns are counted, and which keeps each until it is told to give it back. */
function partner() {
  const back: (() => void)[] = []
  const turn = new PartnersTurn(() => new Promise((resolve) => back.push(resolve)))
  return { turn, back }
}

const settled = (promise: Promise<void>) =>
  Promise.race([promise.then(() => true), new Promise<false>((resolve) => setImmediate(resolve, false))])

test('one that is alone gives the turn at once', async () => {
  const { turn, back } = partner()
  const waiting = turn.begin().turn()
  assert.equal(back.length, 1)
  assert.equal(await settled(waiting), false)
  back[0]?.()
  assert.equal(await settled(waiting), true)
})

test('the turn is given once, when the last has sent', async () => {
  const { turn, back } = partner()
  const [first, second, third] = [turn.begin(), turn.begin(), turn.begin()]
  const waiting = [first.turn(), second.turn()]
  assert.equal(back.length, 0)
  waiting.push(third.turn())
  assert.equal(back.length, 1)
  back[0]?.()
  await Promise.all(waiting)
  for (const one of [first, second, third]) one.end()
  assert.equal(back.length, 1)
})

test('one that goes without having sent does not keep the others waiting', async () => {
  const { turn, back } = partner()
  const [first, second] = [turn.begin(), turn.begin()]
  const waiting = first.turn()
  second.end()
  assert.equal(back.length, 1)
  back[0]?.()
  await waiting
})

test('one that comes while the partner speaks has a turn of its own', async () => {
  const { turn, back } = partner()
  const first = turn.begin().turn()
  const second = turn.begin().turn()
  assert.equal(back.length, 2)
  back[0]?.()
  await first
  assert.equal(await settled(second), false)
  back[1]?.()
  await second
})

test('after two seconds the turn is given though others still send', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { turn, back } = partner()
  const [first, second] = [turn.begin(), turn.begin()]
  const waiting = first.turn()
  t.mock.timers.tick(1999)
  assert.equal(back.length, 0)
  t.mock.timers.tick(1)
  assert.equal(back.length, 1)
  back[0]?.()
  await waiting
  second.end()
  assert.equal(back.length, 1)
})
