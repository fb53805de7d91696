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

test('the partner’s key is a demand where the line is checked against it', () => {
  const keyed = (rsaRemoteKey: string, ciphrate: 'TRANSMISION' | 'FILE') => ({
    security: { cryptography: true, ciphrate, rsaRemoteKey },
  })
  const found = (ciphrate: 'TRANSMISION' | 'FILE', keys: readonly string[]) =>
    differentDemands({
      channels: keys.map((key, index) => of(`B-A-${index}`, 'a', keyed(key, ciphrate))),
    }).map(({ pointer, message }) => [pointer, /\((.*)\)/.exec(message)?.[1]])
  assert.deepEqual(found('TRANSMISION', ['ONE\nKEY', 'ONE\nKEY\n', 'OTHER']), [
    ['/channels/2', 'rsaRemoteKey'],
  ])
  assert.deepEqual(found('FILE', ['ONE', 'OTHER']), [])
})

test('what is only spelled otherwise is no other demand', () => {
  const contacts = [{ id: 'a', remoteIPs: [{ ipAddress: '::1' }] }]
  const password = (localKey: string) => ({ security: { authentication: 'PASSWORD' as const, localKey } })
  const channels = [
    of('B-A-ONE', 'a', password('PWA')),
    of('B-A-TWO', 'a', { ...password('pwa'), connection: { ips: ['0:0:0:0:0:0:0:1'] } }),
  ]
  assert.deepEqual(differentDemands({ channels, contacts }), [])
  const elsewhere = of('B-A-TWO', 'a', { ...password('PWA'), connection: { ips: ['::2'] } })
  const [found] = differentDemands({ channels: [...channels.slice(0, 1), elsewhere], contacts })
  assert.match(found?.message ?? '', /\(ips\)/)
})
