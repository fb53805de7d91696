import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SharedTurn } from './shared-turn.ts'

/** A partner whose turns are counted, and which keeps each until it is told to give it back. */
function partner() {
  const back: (() => void)[] = []
  const turn = new SharedTurn(() => new Promise((resolve) => back.push(resolve)))
  return { turn, back }
}

const settled = (promise: Promise<void>) =>
  Promise.race([promise.then(() => true), new Promise<false>((resolve) => setImmediate(resolve, false))])

test('one that is alone gives the turn at once and waits for it', async () => {
  for (const awaitsReceipts of [true, false]) {
    const { turn, back } = partner()
    const waiting = turn.begin().turn(awaitsReceipts)
    assert.equal(back.length, 1)
    assert.equal(await settled(waiting), false)
    back[0]?.()
    assert.equal(await settled(waiting), true)
  }
})

test('the turn is given once, when the last has sent, and serves those who wait for receipts', async () => {
  const { turn, back } = partner()
  const [first, second, third] = [turn.begin(), turn.begin(), turn.begin()]
  const waiting = first.turn(true)
  await second.turn(false)
  await second.end()
  assert.equal(back.length, 0)
  const last = third.turn(false)
  assert.equal(back.length, 1)
  assert.equal(await settled(waiting), false)
  back[0]?.()
  await Promise.all([waiting, last])
  await Promise.all([first.end(), third.end()])
  assert.equal(back.length, 1)
})

test('one that goes without having sent leaves the turn to be given for the others', async () => {
  const { turn, back } = partner()
  const [first, second] = [turn.begin(), turn.begin()]
  await first.turn(false)
  await first.end()
  const gone = second.end()
  assert.equal(back.length, 1)
  back[0]?.()
  await gone
})

test('where nothing was sent no turn is given', async () => {
  const { turn, back } = partner()
  await turn.begin().end()
  assert.equal(back.length, 0)
})

test('one that comes while the partner speaks has a turn of its own', async () => {
  const { turn, back } = partner()
  const first = turn.begin().turn(true)
  const second = turn.begin().turn(true)
  assert.equal(back.length, 2)
  back[0]?.()
  await first
  assert.equal(await settled(second), false)
  back[1]?.()
  await second
})

test('who waits for receipts waits two seconds for those who still send, and no longer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { turn, back } = partner()
  const [first, second] = [turn.begin(), turn.begin()]
  const waiting = first.turn(true)
  t.mock.timers.tick(1999)
  assert.equal(back.length, 0)
  t.mock.timers.tick(1)
  assert.equal(back.length, 1)
  back[0]?.()
  await waiting
  await second.end()
  assert.equal(back.length, 1)
})

test('without receipts to wait for nothing but the last sender gives the turn', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { turn, back } = partner()
  const [first, second] = [turn.begin(), turn.begin()]
  await first.turn(false)
  t.mock.timers.tick(60_000)
  assert.equal(back.length, 0)
  void second.turn(false)
  assert.equal(back.length, 1)
})
