import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differentDemands } from './demands.ts'

const of = (code: string, contact: string, more: object = {}) => ({ code, contact, ...more })

test('channels of one partner that ask for different things are named, with the field', () => {
  const key = { security: { authentication: 'PASSWORD' as const, remoteKey: 'SECRET' } }
  const channels = [
    of('B-A-ONE', 'a', key),
    of('B-A-TWO', 'a'),
    of('B-C-ONE', 'c'),
    of('B-A-THREE', 'a', key),
  ]
  const [found, ...more] = differentDemands({ channels })
  assert.equal(found?.pointer, '/channels/1')
  assert.match(found?.message ?? '', /than B-A-ONE of the same partner \(authentication\)/)
  assert.deepEqual(more, [])
})
