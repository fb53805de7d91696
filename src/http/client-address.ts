// Where a request comes from: the socket's other end, or what a trusted proxy says in X-Forwarded-For. Anybody can write
// that header, so nobody else's is believed.

import type { FastifyRequest } from 'fastify'
import { isIP } from 'node:net'
import { canonicalAddress } from '../domain/addresses.ts'

export function clientAddress({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  // A proxy that hands on whatever its client wrote may name something that is no address.
  return canonicalAddress(isIP(ip) === 0 ? (socket.remoteAddress ?? '') : ip)
}
