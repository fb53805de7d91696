// Slows down guessing at every door: HTTP, SFTP, OFTP2. Failed sign-ins are counted in the database, so that all doors,
// threads and nodes know them, in three scopes over five minutes:
//
//   an account at an address   10   guessing at one account
//   an address                 50   guessing at many accounts; an IPv6 address counts by its /64
//   an account                100   guessing at one account from everywhere; addresses from which the account signed in
//                                   during the last 30 days are exempt, so that nobody is locked out by strangers
//
// Past a limit every try is refused, the right secret included, for a time that grows with each further try. A success
// resets its pair. Where nothing has failed a try costs two small reads and writes nothing.
//
// Many tries at once get no further than one after another: as many are checked together as could still fail, the others
// wait for their outcome. That is per process: n nodes let through at most n times a limit in the very first moment.

import { CLOCKS_APART_MS } from '../domain/set-back.ts'
import { NodeError } from '../errors.ts'
import type { Store, Tx } from '../store/database/store.ts'
import { addEvent } from '../store/events/outbox.ts'
import {
  addLoginFailure,
  clearLogins,
  countLoginFailures,
  findLoginLocks,
  forgetLoginFailures,
  putLoginLock,
  putLoginSuccess,
  removeLoginLocks,
} from '../store/logins.ts'
import type { LoginCounts, LoginLock, LoginPair } from '../store/logins.ts'
import { DAY_MS, digest, digestOfAddress, KNOWN_DAYS } from './login-digests.ts'
import { TriesUnderWay } from './tries-under-way.ts'

const SPAN_MS = 300_000
const FIRST_WAIT_SECONDS = 30
const MAX_WAIT_SECONDS = 900
const CLEAR_MS = 60_000

/**
 * `account` with its door, e.g. "user ana" or "sftp acme": the same name may be somebody else there. `known` is the user
 * or partner meant, where there is one: any other text is told nobody, it may be a password typed into the wrong field.
 */
export type Who = { account: string; address: string; known?: string | undefined }

export type Limiter = {
  /** Runs `check` and counts it as failed if it gives nothing. Throws `too_many`, with the seconds to wait, instead. */
  attempt<T>(who: Who, now: () => number, check: () => Promise<T | undefined>): Promise<T | undefined>
}

type ScopeName = 'pair' | 'address' | 'account'
type Scope = { key: string; limit: number; failures: number }
type Try = { who: Who; pair: LoginPair; scopes: Scope[]; counts: LoginCounts; locks: LoginLock[] }

const LIMITS: Record<ScopeName, number> = { pair: 10, address: 50, account: 100 }

export function makeLimiter(store: Store): Limiter {
  const underWay = new TriesUnderWay()
  let clearedAt = 0

  async function enter(who: Who, now: () => number): Promise<Try> {
    const keys = keysOf(pairOf(who))
    for (;;) {
      const isCurrent = underWay.look(keys)
      const tried = await look(store, who, now()).finally(() => underWay.looked(keys))
      await refuseLocked(store, tried, now())
      // What ended while the counts were read may not be in them.
      if (!isCurrent()) continue
      if (tried.scopes.every((scope) => hasRoom(scope, underWay.checking(scope.key)))) {
        underWay.begin(keys)
        return tried
      }
      await underWay.nextEnd()
    }
  }

  async function clear(now: number): Promise<void> {
    if (now - clearedAt < CLEAR_MS) return
    clearedAt = now
    const before = { failures: now - SPAN_MS, locks: now - SPAN_MS, successes: now - KNOWN_DAYS * DAY_MS }
    await store.write((tx) => clearLogins(tx, before))
  }

  return {
    async attempt(who, now, check) {
      const tried = await enter(who, now)
      try {
        const passed = await check()
        if (passed !== undefined) await noteSuccess(store, tried, now())
        else {
          await noteFailure(store, tried, now())
          await clear(now())
        }
        return passed
      } finally {
        underWay.end(keysOf(tried.pair))
      }
    },
  }
}

function pairOf({ account, address }: Who): LoginPair {
  return { account: digest(account), address: digestOfAddress(address) }
}

async function look(store: Store, who: Who, now: number): Promise<Try> {
  const pair = pairOf(who)
  const counts = await countLoginFailures(store.db, pair, now - SPAN_MS)
  const known = counts.successAt !== null && counts.successAt > now - KNOWN_DAYS * DAY_MS
  const scopes = scopesOf(pair, counts).filter(({ limit }) => !(known && limit === LIMITS.account))
  return { who, pair, scopes, counts, locks: await findLoginLocks(store.db, keysOf(pair)) }
}

function keysOf({ account, address }: LoginPair): [string, string, string] {
  return [`pair ${account} ${address}`, `address ${address}`, `account ${account}`]
}

function scopesOf(pair: LoginPair, counts: LoginCounts): Scope[] {
  const [one, two, three] = keysOf(pair)
  return [
    { key: one, limit: LIMITS.pair, failures: counts.pair ?? 0 },
    { key: two, limit: LIMITS.address, failures: counts.byAddress ?? 0 },
    { key: three, limit: LIMITS.account, failures: counts.byAccount ?? 0 },
  ]
}

/** Once a wait is over one try at a time is let through. */
function hasRoom({ failures, limit }: Scope, checking: number): boolean {
  return checking === 0 || failures + checking < limit
}

async function noteFailure(store: Store, { who, pair, locks }: Try, now: number): Promise<void> {
  await store.write(async (tx) => {
    await addLoginFailure(tx, pair, now)
    const scopes = scopesOf(pair, await countLoginFailures(tx, pair, now - SPAN_MS))
    const met = scopes.filter(({ failures, limit }) => failures >= limit)
    await lock(
      tx,
      who,
      met.map(({ key }) => longer(lockOf(locks, key), now)),
      now,
    )
    const held = new Set(locks.map(({ scope }) => scope))
    const calm = scopes.filter(({ key, failures, limit }) => failures < limit && held.has(key))
    await removeLoginLocks(
      tx,
      calm.map(({ key }) => key),
    )
  })
}

/** Told when a wait begins, not each time that it grows: hammering makes no events. */
async function lock(tx: Tx, who: Who, locks: readonly LoginLock[], now: number): Promise<void> {
  if (locks.length === 0) return
  const before = await findLoginLocks(tx, keysOf(pairOf(who)))
  for (const one of locks) await putLoginLock(tx, one)
  if (locks.some(({ scope }) => before.every((known) => known.scope !== scope)))
    await tellRefused(tx, who, Math.max(...locks.map(({ until }) => until)), now)
}

const DOORS = ['sftp', 'oftp2'] as const

async function tellRefused(
  tx: Tx,
  { account, address, known }: Who,
  until: number,
  now: number,
): Promise<void> {
  const door = DOORS.find((one) => account.startsWith(`${one} `)) ?? 'http'
  const named = known === undefined ? {} : { account: known }
  await addEvent(tx, {
    type: 'login.refused',
    at: now,
    data: { door, address, ...named, until: new Date(until).toISOString() },
  })
}

/** Nothing to write where nothing had failed and the address is known since yesterday. */
async function noteSuccess(store: Store, { pair, counts, locks }: Try, now: number): Promise<void> {
  const [scope] = keysOf(pair)
  const failed = (counts.pair ?? 0) > 0 || locks.some((lock) => lock.scope === scope)
  const isNew = counts.successAt === null || counts.successAt < now - DAY_MS
  if (!failed && !isNew) return
  await store.write(async (tx) => {
    if (failed) {
      await forgetLoginFailures(tx, pair)
      await removeLoginLocks(tx, [scope])
    }
    if (isNew) await putLoginSuccess(tx, pair, now)
  })
}

function lockOf(locks: readonly LoginLock[], scope: string): LoginLock {
  return locks.find((lock) => lock.scope === scope) ?? { scope, level: 0, until: 0 }
}

function longer({ scope, level, until }: LoginLock, now: number): LoginLock {
  const seconds = Math.min(MAX_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** Math.min(level, 20))
  const known = isOurTime(until, now) ? until : 0
  return { scope, level: level + 1, until: Math.max(known, now + seconds * 1000) }
}

/** What lies further ahead than the longest wait was put by a clock that was ahead. */
function isOurTime(until: number, now: number): boolean {
  return until <= now + MAX_WAIT_SECONDS * 1000 + CLOCKS_APART_MS
}

/** A try during the wait makes it longer, up to the longest; then hammering costs the node no more writes. */
async function refuseLocked(store: Store, tried: Try, now: number): Promise<void> {
  const held = heldLocks(tried, now)
  if (held.length === 0) return
  const grown = held.map((lock) => longer(lock, now))
  if (held.some(({ until }) => until < now + (MAX_WAIT_SECONDS - 1) * 1000))
    await store.write((tx) => lock(tx, tried.who, grown, now))
  const seconds = Math.ceil((Math.max(...grown.map(({ until }) => until)) - now) / 1000)
  throw new NodeError('too_many', `too many failed logins: try again in ${seconds} seconds`, {
    retryAfterSeconds: seconds,
  })
}

/** Failures written at the same moment do not see each other: then the limit is met and nobody has locked yet. */
function heldLocks({ scopes, locks }: Try, now: number): LoginLock[] {
  return scopes.flatMap(({ key, failures, limit }) => {
    const lock = locks.find(({ scope }) => scope === key)
    if (lock === undefined) return failures >= limit ? [lockOf([], key)] : []
    return now < lock.until && isOurTime(lock.until, now) ? [lock] : []
  })
}
