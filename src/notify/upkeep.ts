// What the notifier does now and then: tells of nodes that fell silent and of certificates that end soon, and forgets
// what is older than the events are kept. Several nodes may do it at once: each is done under a lock, or told once.

import { DAY_MS } from '../domain/time.ts'
import { hasLostNodes, tellLostNodes } from '../store/events/node-life.ts'
import { forgetEvents } from '../store/events/list.ts'
import { lockEvents } from '../store/events/sequence.ts'
import { forgetDays } from '../store/expectations/expectation-days.ts'
import { tellExpiringKeys } from './key-expiry.ts'
import type { NotifyParts } from './parts.ts'

const SILENT_EVERY_MS = 5000
const FORGET_EVERY_MS = 600_000
const KEYS_EVERY_MS = 6 * 3_600_000
/** In one transaction: nobody waits long for it. */
const FORGOTTEN_AT_ONCE = 500
/** At one look; the rest at the next. */
const MOST_ROUNDS = 200

export type Upkeep = { look(now: number): Promise<void> }

export function makeUpkeep(parts: NotifyParts, keepDays: number): Upkeep {
  const { store, leaseMs } = parts
  const jobs = [
    {
      everyMs: SILENT_EVERY_MS,
      ranAt: -Infinity,
      run: async (now: number) => {
        if (await hasLostNodes(store.db, now - leaseMs))
          await store.write((tx) => tellLostNodes(tx, now - leaseMs, now))
      },
    },
    { everyMs: KEYS_EVERY_MS, ranAt: -Infinity, run: (now: number) => tellExpiringKeys(parts, now) },
    {
      everyMs: FORGET_EVERY_MS,
      ranAt: -Infinity,
      run: (now: number) => forget(parts, now - keepDays * DAY_MS),
    },
  ]
  return {
    look: async (now) => {
      for (const job of jobs) {
        // A clock that was set back delays nothing.
        if (now >= job.ranAt && now < job.ranAt + job.everyMs) continue
        job.ranAt = now
        await job.run(now)
      }
    },
  }
}

async function forget({ store }: NotifyParts, before: number): Promise<void> {
  await store.write(async (tx) => {
    await lockEvents(tx, store.dialect)
    await forgetDays(tx, before)
  })
  for (let round = 0; round < MOST_ROUNDS; round++)
    if ((await store.write((tx) => forgetEvents(tx, before, FORGOTTEN_AT_ONCE))) < FORGOTTEN_AT_ONCE) return
}
