// Slows down guessing: failed logins are counted per account and per address in a sliding span; past the limit every
// try is refused, the right password included, for a time that grows with each further try. Successes are never
// limited themselves and reset the account's count. Memory is bounded: the oldest counts are forgotten first.
//
// Many tries at once get no further than one after another: as many are checked together as could still fail, the
// others wait for their outcome.

import { LRUCache } from 'lru-cache'
import { NodeError } from '../errors.ts'

const SPAN_MS = 300_000
const PER_ACCOUNT = 10
const PER_ADDRESS = 50
const FIRST_WAIT_SECONDS = 30
const MAX_WAIT_SECONDS = 900
const KEPT = 50_000

/** `checking` counts tries under way; `level` locks and refusals in a row: the wait doubles with it. */
type Count = { limit: number; failures: number[]; checking: number; level: number; until: number }

export type Who = { account: string; address: string }

export type Limiter = {
  /** Runs `check` and counts it as failed if it gives nothing. Throws `too_many`, with the seconds to wait, instead. */
  attempt<T>(who: Who, now: () => number, check: () => Promise<T | undefined>): Promise<T | undefined>
}

export function makeLimiter(): Limiter {
  // Made at the first login: room for so many takes longer to make than most of a start.
  let accounts: LRUCache<string, Count> | undefined
  let addresses: LRUCache<string, Count> | undefined
  let waiting: (() => void)[] = []

  async function enter(who: Who, now: () => number): Promise<{ account: Count; address: Count }> {
    accounts ??= new LRUCache({ max: KEPT })
    addresses ??= new LRUCache({ max: KEPT })
    for (;;) {
      const account = countOf(accounts, who.account, PER_ACCOUNT)
      const address = countOf(addresses, who.address, PER_ADDRESS)
      refuseLocked([account, address], now())
      if (hasRoom(account, now()) && hasRoom(address, now())) {
        account.checking++
        address.checking++
        return { account, address }
      }
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }

  return {
    async attempt(who, now, check) {
      const { account, address } = await enter(who, now)
      try {
        const passed = await check()
        if (passed === undefined) for (const count of [account, address]) noteFailure(count, now())
        else Object.assign(account, { failures: [], level: 0, until: 0 })
        return passed
      } finally {
        account.checking--
        address.checking--
        const woken = waiting
        waiting = []
        for (const wake of woken) wake()
      }
    },
  }
}

function countOf(counts: LRUCache<string, Count>, key: string, limit: number): Count {
  let count = counts.get(key)
  if (!count) counts.set(key, (count = { limit, failures: [], checking: 0, level: 0, until: 0 }))
  return count
}

/** Once a wait is over one try at a time is let through. */
function hasRoom(count: Count, now: number): boolean {
  return count.checking === 0 || recent(count, now).length + count.checking < count.limit
}

function recent(count: Count, now: number): number[] {
  return count.failures.filter((at) => at > now - SPAN_MS)
}

function noteFailure(count: Count, now: number): void {
  count.failures = [...recent(count, now), now].slice(-count.limit)
  if (count.failures.length >= count.limit) lock(count, now)
  else count.level = 0
}

function lock(count: Count, now: number): void {
  const seconds = Math.min(MAX_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** Math.min(count.level, 20))
  count.level++
  count.until = Math.max(count.until, now + seconds * 1000)
}

/** A try during the wait makes it longer. */
function refuseLocked(counts: readonly Count[], now: number): void {
  const locked = counts.filter((count) => now < count.until)
  if (locked.length === 0) return
  for (const count of locked) lock(count, now)
  const seconds = Math.ceil((Math.max(...locked.map((count) => count.until)) - now) / 1000)
  throw new NodeError('too_many', `too many failed logins: try again in ${seconds} seconds`, {
    retryAfterSeconds: seconds,
  })
}
