// Accounts and addresses as the counters of sign-ins keep them: nothing of what somebody typed can be read there.

import { createHash } from 'node:crypto'
import { callersNetwork } from '../domain/network/networks.ts'

export const DAY_MS = 86_400_000
/** For so long an address from which an account came in is known. */
export const KNOWN_DAYS = 30

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** An IPv6 address counts by its /64. */
export function digestOfAddress(address: string): string {
  return digest(callersNetwork(address))
}
