import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Tries } from './tries.ts'

test('an address has sixty tries, then two a second; one that led to a sign-in is given back', () => {
  let now = 0
  const tries = new Tries(() => now)
  for (let at = 0; at < 60; at++) assert.equal(tries.take('one'), true)
  assert.equal(tries.take('one'), false)
  tries.giveBack('one')
  assert.equal(tries.take('one'), true)
  assert.equal(tries.take('one'), false)
  assert.equal(tries.take('another'), true)
  now += 1000
  assert.deepEqual([tries.take('one'), tries.take('one'), tries.take('one')], [true, true, false])
})

test('all strangers together have 120 tries, then ten a second, and their addresses are not remembered without end', () => {
  let now = 0
  const tries = new Tries(() => now)
  for (let at = 0; at < 120; at++) assert.equal(tries.take(`a${at}`), true)
  assert.equal(tries.take('one more'), false)
  now += 1000
  const taken = Array.from({ length: 20 }, (_, at) => tries.take(`b${at}`)).filter(Boolean)
  assert.equal(taken.length, 10)
})
