// Addresses from which somebody has signed in during the last 30 days, at any door and any node. Listeners keep places for
// them. They are read from the database at the start and every minute; what this node sees itself counts at once. Only
// digests are kept (store/logins.ts).

import type { Store } from '../store/database/store.ts'
import { knownLoginAddresses, putLoginSuccess } from '../store/logins.ts'
import { DAY_MS, digest, digestOfAddress, KNOWN_DAYS } from './login-digests.ts'

export type KnownAddresses = {
  has(address: string): boolean
  /** Somebody has proven itself from there. */
  note(account: string, address: string): Promise<void>
  refresh(): Promise<void>
}

export function makeKnownAddresses(store: Store, now: () => number): KnownAddresses {
  let known = new Map<string, number>()
  return {
    has: (address) => (known.get(digestOfAddress(address)) ?? 0) > now() - KNOWN_DAYS * DAY_MS,
    async note(account, address) {
      const key = digestOfAddress(address)
      const at = now()
      const before = known.get(key) ?? 0
      if (before > at - DAY_MS) return
      known.set(key, at)
      await store.write((tx) => putLoginSuccess(tx, { account: digest(account), address: key }, at))
    },
    async refresh() {
      const found = await knownLoginAddresses(store.db, now() - KNOWN_DAYS * DAY_MS)
      const next = new Map(found.map(({ address, at }) => [address, at]))
      for (const [key, at] of known) if (at > (next.get(key) ?? 0)) next.set(key, at)
      known = next
    },
  }
}
