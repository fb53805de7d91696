// Where a request comes from: the other end of the socket, or the address that a trusted proxy gives in
// X-Forwarded-For. Anybody can write that header, so it is believed from trusted proxies only.

import type { FastifyRequest } from 'fastify'
import { isIP } from 'node:net'
import { canonicalAddress } from '../domain/network/addresses.ts'

export function clientAddress({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  const address = withoutPort(ip)
  // A proxy may pass on what its client wrote, and that may be no address.
  return canonicalAddress(isIP(address) === 0 ? (socket.remoteAddress ?? '') : address)
}

/** Some proxies write the port behind the address, and an IPv6 address in brackets. */
export function withoutPort(hop: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(hop) ?? []
  return bracketed ?? plain ?? hop
}
