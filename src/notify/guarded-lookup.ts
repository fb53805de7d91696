// Names are looked up here, their addresses checked (domain/network/webhook-addresses.ts), and the connection is made to the very
// address that was checked.

import { lookup as lookUp } from 'node:dns'
import type { LookupAddress, LookupOptions } from 'node:dns'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import type { Networks } from '../domain/network/networks.ts'
import { refusedBecause } from '../domain/network/webhook-addresses.ts'
import { NodeError } from '../errors.ts'

/** For an address that stands in the URL itself: no lookup is made for it. */
export function requireAllowed(hostname: string, open: Networks): void {
  const address = hostname.replace(/^\[|\]$/g, '')
  const why = isIP(address) === 0 ? undefined : refusedBecause(address, open)
  if (why !== undefined) throw new NodeError('forbidden', why)
}

/** In place of `dns.lookup`: answers with the allowed addresses of a name alone. */
export function guardedLookup(open: Networks, resolve: typeof lookUp = lookUp): LookupFunction {
  return (hostname, options: LookupOptions, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) return callback(error, '')
      const allowed = found.filter(({ address }) => refusedBecause(address, open) === undefined)
      const [first] = allowed
      if (!first) {
        const why = found.map(({ address }) => refusedBecause(address, open)).find((one) => one !== undefined)
        return callback(new NodeError('forbidden', `${hostname}: ${why ?? 'it has no address'}`), '')
      }
      if (options.all) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
}
