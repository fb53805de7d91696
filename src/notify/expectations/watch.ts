// The clock of expectations: plans their days and decides what time decides, by the database's clock. One node at a
// time, under the lock that events are taken under; what one has decided the next one finds decided.

import { afterTime, reopened } from '../../domain/expectation-day.ts'
import type { Zone } from '../../domain/time.ts'
import type { Store, Tx } from '../../store/database/store.ts'
import { lockEvents } from '../../store/events/sequence.ts'
import { daysDecidedAhead, daysDue, updateDay } from '../../store/expectations/expectation-days.ts'
import { expectationsToPlan, planFrom } from '../../store/expectations/expectations.ts'
import { writeChange } from './change-days.ts'
import { planDays } from './plan-days.ts'

/** In one transaction: the engine's writes wait for no more than this. */
const AT_ONCE = 100

/** True: something was decided. All that has happened must have been taken before. */
export async function watchExpectations(store: Store, zone: Zone, now: number): Promise<boolean> {
  const planned = await repeat(
    store,
    () => expectationsToPlan(store.db, now, 1),
    (tx) => planDays(tx, zone, now, AT_ONCE),
  )
  const decided = await repeat(
    store,
    () => daysDue(store.db, now, 1),
    (tx) => decideDays(tx, zone, now),
  )
  return planned || decided
}

/** After the clock was set back: what it had decided too early is open again, and what it had planned is planned anew. */
export async function undoDaysAhead(store: Store, now: number): Promise<void> {
  if ((await daysDecidedAhead(store.db, now)).length === 0) return
  await store.write(async (tx) => {
    await lockEvents(tx, store.dialect)
    const days = await daysDecidedAhead(tx, now)
    for (const day of days) if (day.opensAt <= now) await updateDay(tx, reopened(day, now))
    await planFrom(tx, [...new Set(days.map(({ expectationId }) => expectationId))], now)
  })
}

/** For as long as there is something to do; a look without a lock comes first. */
async function repeat(
  store: Store,
  look: () => Promise<readonly unknown[]>,
  work: (tx: Tx) => Promise<number>,
): Promise<boolean> {
  let worked = false
  while ((await look()).length > 0) {
    worked = true
    const done = await store.write(async (tx) => {
      await lockEvents(tx, store.dialect)
      return work(tx)
    })
    if (done < AT_ONCE) break
  }
  return worked
}

async function decideDays(tx: Tx, zone: Zone, now: number): Promise<number> {
  const due = await daysDue(tx, now, AT_ONCE)
  for (const day of due) await writeChange(tx, afterTime(day, now), zone, now)
  return due.length
}
