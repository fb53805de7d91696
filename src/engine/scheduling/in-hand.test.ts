import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InHand } from './in-hand.ts'

function takeAll(hand: InHand, contactId: string): number {
  let taken = 0
  while (taken < 10_000 && hand.take(contactId)) taken++
  return taken
}

test('one partner has half of what is in hand, the next ones what is left, and each at least one', () => {
  const hand = new InHand(64)
  assert.equal(takeAll(hand, 'slow'), 32)
  assert.deepEqual(hand.full(), ['slow'])
  assert.equal(takeAll(hand, 'slower'), 32)
  assert.deepEqual(hand.full(), ['slow', 'slower'])
  assert.equal(takeAll(hand, 'another'), 1)
  assert.deepEqual(hand.full(), ['slow', 'slower', 'another'])
  hand.giveBack('slow')
  assert.equal(hand.take('slow'), false, 'all are still given')
  hand.giveBack('slow')
  assert.equal(takeAll(hand, 'another'), 1)
  hand.giveBack('slower')
  assert.equal(takeAll(hand, 'slow'), 1)
})

test('what is tried with a copy counts nowhere else', () => {
  const hand = new InHand(4)
  const trial = hand.copy()
  assert.equal(takeAll(trial, 'acme'), 2)
  assert.deepEqual(hand.full(), [])
  assert.equal(takeAll(hand, 'acme'), 2)
})

test('with very many partners that hold theirs there is an end', () => {
  const hand = new InHand(4)
  for (let nth = 0; nth < 30; nth++) assert.equal(hand.take(`p${nth}`), true)
  assert.equal(hand.room, 2)
  hand.take('p30')
  hand.take('p31')
  assert.equal(hand.room, 0)
  for (let nth = 0; nth < 32; nth++) hand.giveBack(`p${nth}`)
  assert.deepEqual([hand.room, hand.full()], [4, []])
})

test('with one place a partner has that one', () => {
  const hand = new InHand(1)
  assert.equal(takeAll(hand, 'acme'), 1)
  assert.equal(takeAll(hand, 'banco'), 1)
})
