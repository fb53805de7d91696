import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { callersNetwork, networksOf } from './networks.ts'

test('addresses and networks of both families are known, mapped addresses by what they stand for', () => {
  const networks = networksOf(['127.0.0.1', '10.0.0.0/8', 'fd00::/8', '::1'])
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '10.255.0.1', '::ffff:a01:203', 'FD12:3::1', '::1'])
    assert.equal(networks.has(address), true, address)
  for (const address of ['127.0.0.2', '11.0.0.1', 'fc00::1', '::2', '', 'localhost', '10.0.0.1, 1.2.3.4'])
    assert.equal(networks.has(address), false, address)
  assert.equal(networksOf([]).has('127.0.0.1'), false)
})

test('an IPv6 caller is known by its /64, however the address is written', () => {
  assert.equal(callersNetwork('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  assert.equal(callersNetwork('2001:DB8:1:2::ffff'), '2001:db8:1:2::/64')
  assert.equal(callersNetwork('2001:db8::1'), '2001:db8:0:0::/64')
  assert.equal(callersNetwork('::1'), '0:0:0:0::/64')
  assert.equal(callersNetwork('fe80::1%eth0'), 'fe80:0:0:0::/64')
  assert.equal(callersNetwork('::ffff:192.0.2.7'), '192.0.2.7')
  assert.equal(callersNetwork('192.0.2.7'), '192.0.2.7')
})

test('two addresses share a network exactly when their first 64 bits are the same', () => {
  const group = fc.integer({ min: 0, max: 0xffff })
  const eight = fc.tuple(group, group, group, group, group, group, group, group)
  const write = (groups: readonly number[]) => groups.map((one) => one.toString(16)).join(':')
  fc.assert(
    fc.property(eight, eight, (one, other) => {
      // An address that stands for an IPv4 one is counted as that.
      fc.pre(one.slice(0, 5).some((part) => part !== 0) && other.slice(0, 5).some((part) => part !== 0))
      const mixed = [...one.slice(0, 4), ...other.slice(4)]
      if (mixed.slice(0, 5).some((part) => part !== 0))
        assert.equal(callersNetwork(write(one)), callersNetwork(write(mixed)))
      const same = one.slice(0, 4).every((part, at) => part === other[at])
      assert.equal(callersNetwork(write(one)) === callersNetwork(write(other)), same)
    }),
  )
})
