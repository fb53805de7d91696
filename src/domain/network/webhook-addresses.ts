// Where webhooks may go. Whoever sets a webhook must not reach through it what only this machine can reach: addresses
// of the link and of cloud metadata never, loopback and private networks only where a setting names them.

import { isIP } from 'node:net'
import { networksOf } from './networks.ts'
import type { Networks } from './networks.ts'

/** This host, the link, several at once, reserved, and where clouds keep their metadata. */
const NEVER = networksOf([
  '0.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '100.100.100.200',
  '::',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  'fd00:ec2::254',
  '2001::/32', // Teredo carries an IPv4 address that nobody can check by its looks
])
const INSIDE = networksOf([
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '::1',
  'fc00::/7',
  '2001:db8::/32',
])

/** Why an address is refused; undefined: it is not. `open` are the networks that the setting names. */
export function refusedBecause(address: string, open: Networks): string | undefined {
  for (const one of [address, ...embedded(address)]) {
    if (NEVER.has(one)) return `${address} is an address that webhooks may never call`
    if (INSIDE.has(one) && !open.has(one))
      return `${address} is on an inner network: ESCLUSA_WEBHOOK_NETWORKS does not name it`
  }
  return undefined
}

/** The IPv4 address inside 64:ff9b::/96 (NAT64), 2002::/16 (6to4) and ::a.b.c.d. */
function embedded(address: string): string[] {
  if (isIP(address) !== 6) return []
  const groups = expand(address)
  const at = (index: number) => groups[index] ?? 0
  const four = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join('.')
  if (at(0) === 0x2002) return [four(at(1), at(2))]
  const translated = at(0) === 0x64 && at(1) === 0xff9b
  const compatible = groups.slice(0, 6).every((group) => group === 0) && (at(6) > 0 || at(7) > 1)
  return translated || compatible ? [four(at(6), at(7))] : []
}

function expand(address: string): number[] {
  const plain = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1)
  const [head = '', tail] = plain.split('::')
  const read = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const [first, last] = [read(head), read(tail ?? '')]
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last]
}
