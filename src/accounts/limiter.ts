// Slows down guessing: failed logins are counted per account and per address in a sliding span; past the limit every
// try is refused, the right password included, for a time that grows with each further try. Successes are never
// limited themselves and reset the account's count. Memory is bounded: the oldest counts are forgotten first.

import { LRUCache } from 'lru-cache'
import { NodeError } from '../errors.ts'

const SPAN_MS = 300_000
const PER_ACCOUNT = 10
const PER_ADDRESS = 50
const FIRST_WAIT_SECONDS = 30
const MAX_WAIT_SECONDS = 900
const KEPT = 50_000

/** `level` counts locks and refusals in a row: the wait doubles with it. */
type Count = { failures: number[]; level: number; until: number }

export type Limiter = {
  /** Throws `too_many` with the seconds to wait. */
  admit(account: string, address: string, now: number): void
  failed(account: string, address: string, now: number): void
  succeeded(account: string): void
}

export function makeLimiter(): Limiter {
  const accounts = new LRUCache<string, Count>({ max: KEPT })
  const addresses = new LRUCache<string, Count>({ max: KEPT })
  return {
    admit(account, address, now) {
      const waits = [waitFor(accounts.get(account), now), waitFor(addresses.get(address), now)]
      const seconds = Math.max(...waits)
      if (seconds === 0) return
      throw new NodeError('too_many', `too many failed logins: try again in ${seconds} seconds`, { retryAfterSeconds: seconds })
    },
    failed(account, address, now) {
      note(accounts, account, PER_ACCOUNT, now)
      note(addresses, address, PER_ADDRESS, now)
    },
    succeeded(account) {
      accounts.delete(account)
    },
  }
}

function note(counts: LRUCache<string, Count>, key: string, limit: number, now: number): void {
  const count = counts.get(key) ?? { failures: [], level: 0, until: 0 }
  count.failures = [...count.failures.filter((at) => at > now - SPAN_MS), now].slice(-limit)
  if (count.failures.length >= limit) lock(count, now)
  else count.level = 0
  counts.set(key, count)
}

function lock(count: Count, now: number): void {
  const seconds = Math.min(MAX_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** Math.min(count.level, 20))
  count.level++
  count.until = Math.max(count.until, now + seconds * 1000)
}

/** Seconds to wait; a try during the wait makes it longer. Once it is over one try is let through. */
function waitFor(count: Count | undefined, now: number): number {
  if (!count || now >= count.until) return 0
  lock(count, now)
  return Math.ceil((count.until - now) / 1000)
}
