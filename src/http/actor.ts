// Who calls and from where, as the audit trail tells it.

import type { FastifyRequest } from 'fastify'
import type { Actor } from '../audit/trail.ts'
import type { Account } from '../store/accounts.ts'
import { clientAddress } from './client-address.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the caller showed: set once it was found good. */
    credential?: { via: 'TOKEN' | 'SESSION'; id: string | undefined; expiresAt: number }
  }
}

export type Caller = { user: Pick<Account, 'username'>; request: FastifyRequest }

export function actorOf({ user, request }: Caller): Actor {
  const { via = 'TOKEN', id } = request.credential ?? {}
  return { who: user.username, via, tokenId: id, address: clientAddress(request) }
}
