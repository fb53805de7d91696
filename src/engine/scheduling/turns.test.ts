import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turnEnds } from 'node:timers/promises'
import { Turns } from './turns.ts'

/** Turns that last until they are ended. */
function lasting() {
  const failed: string[] = []
  const turns = new Turns((key) => failed.push(key))
  const running = new Map<string, { end: () => void; fail: () => void }>()
  const add = (contactId: string, key: string) =>
    turns.add(contactId, key, () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      running.set(key, { end: resolve, fail: () => reject(new Error(key)) })
      return promise.finally(() => running.delete(key))
    })
  const keys = () => [...running.keys()]
  return { turns, add, running, keys, failed }
}

test('a partner has half of the turns at once, and others have theirs beside it', () => {
  const { add, keys } = lasting()
  for (let nth = 0; nth < 100; nth++) add('hangs', `hangs ${nth}`)
  assert.equal(keys().length, 32)
  for (let nth = 0; nth < 100; nth++) add('too', `too ${nth}`)
  assert.equal(keys().length, 64)
  add('near', 'near 0')
  assert.deepEqual(keys().at(-1), 'near 0')
})

test('what waits has its turn in order, once, also after others have failed', async () => {
  const { add, keys, running, failed, turns } = lasting()
  for (let nth = 0; nth < 35; nth++) for (const _again of [1, 2]) add('acme', `${nth}`)
  assert.equal(keys().length, 32)
  running.get('5')?.fail()
  running.get('9')?.end()
  await turnEnds()
  assert.deepEqual(keys().slice(-2), ['32', '33'])
  assert.deepEqual(failed, ['5'])
  add('acme', '5')
  add('acme', '34')
  running.get('0')?.end()
  running.get('1')?.end()
  await turnEnds()
  assert.deepEqual(keys().slice(-2), ['34', '5'])
  const stopped = turns.stop()
  add('acme', 'late')
  for (const { end } of running.values()) end()
  await stopped
  assert.deepEqual(keys(), [])
})

test('what waits when all is stopped is not begun', async () => {
  const { add, keys, running, turns } = lasting()
  for (let nth = 0; nth < 40; nth++) add('acme', `${nth}`)
  const stopped = turns.stop()
  for (const { end } of running.values()) end()
  await stopped
  assert.deepEqual(keys(), [])
})
