// Addresses and networks, as settings name them (`10.0.0.7`, `10.0.0.0/8`, `fd00::/8`), and under which of them a
// caller is counted.

import { BlockList, isIP } from 'node:net'
import { canonicalAddress } from './addresses.ts'

export type Networks = { has(address: string): boolean }

/** `texts` were checked when the settings were read. */
export function networksOf(texts: readonly string[]): Networks {
  const list = new BlockList()
  for (const text of texts) {
    const [address = '', prefix] = text.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return {
    has: (address) => {
      const plain = canonicalAddress(address)
      const version = isIP(plain)
      return version !== 0 && list.check(plain, version === 6 ? 'ipv6' : 'ipv4')
    },
  }
}

/** Addresses that one caller can choose from: an IPv4 address, or the /64 of an IPv6 address. */
export function callersNetwork(address: string): string {
  const plain = canonicalAddress(address)
  if (isIP(plain) !== 6) return plain
  const [head = '', tail] = plain.split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - rest.length
  return `${[...groups, ...Array.from({ length: missing }, () => '0'), ...rest].slice(0, 4).join(':')}::/64`
}
