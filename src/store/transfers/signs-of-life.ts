// Which engines are alive. An engine renews this one row, and with it all its leases.

import { isOlder } from '../../domain/version.ts'
import { VERSION } from '../../root.ts'
import type { Db, Tx } from '../database/store.ts'
import { isActive } from './active.ts'

const FORGOTTEN_MS = 86_400_000
/** Nobody’s lease lies further ahead than its time and this, however clocks of nodes that work together differ. */
export const FURTHEST_APART_MS = 600_000

export async function signLife(tx: Tx, owner: string, until: number): Promise<void> {
  const row = { owner, alive_until: until, version: VERSION }
  await tx
    .insertInto('sign_of_life')
    .values(row)
    .onConflict((conflict) => conflict.column('owner').doUpdateSet(row))
    .execute()
}

export async function livingOwners(db: Db, now: number): Promise<Set<string>> {
  const rows = await db.selectFrom('sign_of_life').select('owner').where('alive_until', '>=', now).execute()
  return new Set(rows.map((row) => row.owner))
}

/** What signed no version: the first one did not say it. */
const UNSIGNED_VERSION = '0.1.0'

/** Engines at work that run an older version than that one, by default than this program's. */
export async function olderAtWork(
  db: Db,
  now: number,
  than: string = VERSION,
): Promise<{ owner: string; version: string }[]> {
  const rows = await db
    .selectFrom('sign_of_life')
    .select(['owner', 'version'])
    .where('alive_until', '>=', now)
    .orderBy('owner')
    .execute()
  return rows
    .map(({ owner, version }) => ({ owner, version: version ?? UNSIGNED_VERSION }))
    .filter(({ version }) => isOlder(version, than))
}

/**
 * Leases and signs of life from a future that no lease reaches: the clock was set back, and whoever wrote them would be
 * waited for until then. The living write theirs anew within seconds.
 */
export async function endFutureLeases(tx: Tx, now: number, leaseMs: number): Promise<void> {
  const latest = now + leaseMs + FURTHEST_APART_MS
  await tx
    .updateTable('sign_of_life')
    .set({ alive_until: now - 1 })
    .where('alive_until', '>', latest)
    .execute()
  await tx
    .updateTable('transfer')
    // What was asked for by that clock is due in its future, too.
    .set({ lease_until: now - 1, due_at: now })
    .where('lease_until', '>', latest)
    .where(isActive)
    .execute()
}

/** When an engine ends. Also removes signs of engines that died long ago. */
export async function removeSign(tx: Tx, owner: string, now: number): Promise<void> {
  await tx
    .deleteFrom('sign_of_life')
    .where((eb) => eb.or([eb('owner', '=', owner), eb('alive_until', '<', now - FORGOTTEN_MS)]))
    .execute()
}
