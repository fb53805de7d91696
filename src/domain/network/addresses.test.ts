import assert from 'node:assert/strict'
import { isIP, isIPv6 as nodeIsIPv6 } from 'node:net'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { canonicalAddress, isAddress, isIPv6 } from './addresses.ts'

test('addresses are IPv4 or IPv6', () => {
  for (const good of [
    '10.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    '2001:db8::8a2e:370:7334',
    '::ffff:10.0.0.1',
    '1:2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7::',
    '64:ff9b::192.0.2.33',
  ])
    assert.ok(isAddress(good), good)
  for (const bad of [
    '10.0.0',
    '10.0.0.256',
    '01.2.3.4',
    '1.2.3.4.5',
    '0x7f.0.0.1',
    'host',
    '::g',
    '',
    '1:2',
    '1:2:3:4:5:6:7:8:9',
    '1::2::3',
    '::1.2.3',
    '::01.2.3.4',
    '::1%',
    '[::1]',
    '12345::',
  ])
    assert.ok(!isAddress(bad), bad)
})

const group = fc.oneof(
  fc.constantFrom('', '0', '::', 'ffff', '1.2.3.4', '%a'),
  fc.stringMatching(/^[0-9a-fA-F]{1,5}$/),
)
const almostAddress = fc
  .tuple(fc.array(group, { maxLength: 10 }), fc.constantFrom(':', '.', '::'))
  .map(([groups, between]) => groups.join(between))

test('what is an address is what Node takes for one', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), almostAddress), (text) => {
      assert.equal(isAddress(text), isIP(text) !== 0, text)
      assert.equal(isIPv6(text), nodeIsIPv6(text), text)
    }),
    { numRuns: 2000 },
  )
})

test('an address has one spelling', () => {
  assert.equal(canonicalAddress('10.1.2.3'), '10.1.2.3')
  assert.equal(canonicalAddress('::FFFF:10.1.2.3'), '10.1.2.3')
  assert.equal(canonicalAddress('::ffff:ffff:ffff'), '255.255.255.255')
  assert.equal(canonicalAddress('2001:0DB8:0:0::0001'), '2001:db8::1')
  assert.equal(canonicalAddress('fe80::1%eth0'), 'fe80::1')
})
