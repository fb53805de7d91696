import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CallerPlaces } from './caller-places.ts'
import type { Place } from './caller-places.ts'

const LIMITS = { places: 8, reserved: 4, waitingPerAddress: 2, signInMs: 600_000, perContact: 3 }

/** Callers enter under their address; those whose address begins with `k` are known. */
function listener(limits = LIMITS) {
  const ended: string[] = []
  const open: Place[] = []
  const places = new CallerPlaces(limits, (address) => address.startsWith('k'))
  const enter = (address: string): Place | undefined => {
    const place = places.enter(address, (why) => ended.push(`${address} ${why}`))
    if (place) open.push(place)
    return place
  }
  return { enter, ended, close: () => open.forEach((place) => place.leave()) }
}

test('an address has few connections that have not signed in, an IPv6 address by its /64', (t) => {
  const { enter, close } = listener()
  t.after(close)
  const first = enter('2001:db8::1')
  assert.ok(enter('2001:db8::2'))
  assert.equal(enter('2001:db8::3'), undefined)
  assert.ok(enter('2001:db8:0:1::1'))
  assert.equal(first?.admitted('acme', true), true)
  assert.ok(enter('2001:db8::3'))
})

test('strangers take the place of strangers, never one that is kept for known addresses', (t) => {
  const { enter, ended, close } = listener()
  t.after(close)
  for (const address of ['a', 'b', 'c', 'd', 'e']) assert.ok(enter(address))
  assert.deepEqual(ended, ['a crowded'])
  for (const address of ['k1', 'k2', 'k3', 'k4']) assert.ok(enter(address))
  assert.deepEqual(ended, ['a crowded'])
  assert.ok(enter('k5'))
  assert.deepEqual(ended, ['a crowded', 'b crowded'])
})

test('who was let in without proof keeps its place, and none of the reserve', (t) => {
  const { enter, close } = listener({ ...LIMITS, perContact: 8 })
  t.after(close)
  for (const address of ['a', 'b', 'c', 'd']) assert.equal(enter(address)?.admitted('open', false), true)
  assert.equal(enter('e'), undefined)
  for (const address of ['k1', 'k2', 'k3', 'k4']) assert.equal(enter(address)?.admitted('acme', true), true)
  assert.equal(enter('k5'), undefined)
})

test('a partner has only so many sessions at once', (t) => {
  const { enter, close } = listener()
  t.after(close)
  const places = ['k1', 'k2', 'k3', 'k4'].map((address) => enter(address))
  assert.deepEqual(
    places.map((place) => place?.admitted('acme', true)),
    [true, true, true, false],
  )
  places[0]?.leave()
  assert.equal(places[3]?.admitted('acme', true), true)
})

test('who does not sign in in time loses its place, and cannot be let in any more', async (t) => {
  const { enter, ended, close } = listener({ ...LIMITS, signInMs: 1 })
  t.after(close)
  const place = enter('a')
  while (ended.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(ended, ['a late'])
  assert.equal(place?.admitted('acme', true), false)
})
