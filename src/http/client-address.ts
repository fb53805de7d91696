// Where a request comes from: the other end of the socket, or the address that a trusted proxy gives in
// X-Forwarded-For. Anybody can write that header, so it is believed from trusted proxies only.

import type { FastifyRequest } from 'fastify'
import { isIP } from 'node:net'
import { canonicalAddress } from '../domain/network/addresses.ts'

export function clientAddress({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  // A proxy may pass on what its client wrote, and that may be no address.
  return canonicalAddress(isIP(ip) === 0 ? (socket.remoteAddress ?? '') : ip)
}
