import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { clientAddress, withoutPort } from './client-address.ts'

test('an address is taken out of what proxies write around it', () => {
  const written: [string, string][] = [
    ['5.5.5.5', '5.5.5.5'],
    ['5.5.5.5:123', '5.5.5.5'],
    ['[2001:db8::5]', '2001:db8::5'],
    ['[2001:db8::5]:65535', '2001:db8::5'],
    ['2001:db8::5', '2001:db8::5'],
    // No port: it could not be told from a part of the address.
    ['2001:db8::5:123', '2001:db8::5:123'],
    ['::ffff:5.5.5.5', '::ffff:5.5.5.5'],
  ]
  for (const [hop, address] of written) assert.equal(withoutPort(hop), address)
})

test('callers behind a proxy that writes ports are told apart, and what is no address counts as the proxy', () => {
  const socket = { remoteAddress: '127.0.0.1' } as Socket
  const address = (ip: string) => clientAddress({ ip, socket })
  assert.equal(address('5.5.5.5:123'), '5.5.5.5')
  assert.equal(address('[2001:DB8:0::5]:123'), '2001:db8::5')
  assert.equal(address('[::ffff:5.5.5.5]:123'), '5.5.5.5')
  for (const ip of ['unknown', '5.5.5.5:', '5.5.5.5:x', '5.5.5.5:123456', '[5.5.5]', '[]:1', 'host:80'])
    assert.equal(address(ip), '127.0.0.1', ip)
})
