// Subscriptions: who is told, how it is going, and which node does the telling. Secrets lie sealed.

import type { MailLanguage } from '../../contract/subscription.ts'
import type { Db, Tx } from '../database/store.ts'
import type { SubscriptionRow } from '../database/tables.ts'
import type { Seal } from '../seal.ts'
import { FURTHEST_APART_MS } from '../transfers/signs-of-life.ts'

export type SubscriptionSettings = {
  webhook?: { url: string } | undefined
  mail?: { to: string[]; language: MailLanguage } | undefined
  events: string[]
  channels?: string[] | undefined
}

export type SubscriptionState = 'ON' | 'OFF'

export type SubscriptionRecord = {
  id: string
  settings: SubscriptionSettings
  /** The list of secrets, as JSON, sealed under secretsPlace; empty where there are none. */
  secrets: string
  state: SubscriptionState
  offAt: number | null
  offReason: string | null
  /** Attempts in a row that failed. */
  failures: number
  failingSince: number | null
  mailAfter: number
}

export function secretsPlace(id: string): string {
  return `subscription ${id} secrets`
}

/** How many secrets it signs with. */
export function countSecrets(
  { id, secrets }: Pick<SubscriptionRecord, 'id' | 'secrets'>,
  seal: Seal,
): number {
  return secrets === '' ? 0 : (JSON.parse(seal.open(secretsPlace(id), secrets)) as string[]).length
}

export async function listSubscriptions(db: Db): Promise<SubscriptionRecord[]> {
  return (await db.selectFrom('subscription').selectAll().orderBy('id').execute()).map(toSubscription)
}

export async function findSubscription(db: Db, id: string): Promise<SubscriptionRecord | undefined> {
  const row = await db.selectFrom('subscription').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toSubscription(row)
}

/** Makes it, or replaces its settings; either way it is on, and what failed before counts no more. */
export async function putSubscription(
  tx: Tx,
  { id, settings, secrets }: Pick<SubscriptionRecord, 'id' | 'settings' | 'secrets'>,
): Promise<void> {
  const row = {
    kind: settings.mail ? 'mail' : 'webhook',
    settings: JSON.stringify(settings),
    secrets,
    state: 'ON',
    off_at: null,
    off_reason: null,
    failures: 0,
    failing_since: null,
  }
  await tx
    .insertInto('subscription')
    .values({ id, ...row, mail_after: 0, lease_owner: null, lease_until: 0 })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
}

export async function removeSubscription(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('subscription').where('id', '=', id).execute()
}

/** False: there is none. */
export async function switchOn(tx: Tx, id: string): Promise<boolean> {
  const done = await tx
    .updateTable('subscription')
    .set({ state: 'ON', off_at: null, off_reason: null, failures: 0, failing_since: null })
    .where('id', '=', id)
    .executeTakeFirst()
  return done.numUpdatedRows === 1n
}

/** False: it was off already. */
export async function switchOff(tx: Tx, id: string, now: number, reason: string): Promise<boolean> {
  const done = await tx
    .updateTable('subscription')
    .set({ state: 'OFF', off_at: now, off_reason: reason })
    .where('id', '=', id)
    .where('state', '=', 'ON')
    .executeTakeFirst()
  return done.numUpdatedRows === 1n
}

export async function setHealth(
  tx: Tx,
  id: string,
  health: { failures: number; failingSince: number | null },
): Promise<void> {
  await tx
    .updateTable('subscription')
    .set({ failures: health.failures, failing_since: health.failingSince })
    .where('id', '=', id)
    .execute()
}

export async function setMailAfter(tx: Tx, id: string, at: number): Promise<void> {
  await tx.updateTable('subscription').set({ mail_after: at }).where('id', '=', id).execute()
}

export type Lease = { owner: string; now: number; until: number }

/**
 * Those that are on, have something due, and are nobody else's: now they are the owner's. A lease that
 * lies further ahead than any does was written by a clock that was ahead, and its node may be gone.
 */
export async function holdSubscriptions(tx: Tx, ids: readonly string[], lease: Lease): Promise<string[]> {
  if (ids.length === 0) return []
  const held = await tx
    .updateTable('subscription')
    .set({ lease_owner: lease.owner, lease_until: lease.until })
    .where('id', 'in', ids)
    .where('state', '=', 'ON')
    .where((eb) =>
      eb.or([
        eb('lease_owner', '=', lease.owner),
        eb('lease_until', '<', lease.now),
        eb('lease_until', '>', lease.until + FURTHEST_APART_MS),
      ]),
    )
    .returning('id')
    .execute()
  return held.map((row) => row.id)
}

/** How its endpoint is doing, for the node that still holds it; undefined: it is another's by now. Nobody takes it meanwhile. */
export async function lockHeld(
  tx: Tx,
  id: string,
  owner: string,
): Promise<Pick<SubscriptionRecord, 'failures' | 'failingSince'> | undefined> {
  const row = await tx
    .updateTable('subscription')
    .set({ lease_owner: owner })
    .where('id', '=', id)
    .where('lease_owner', '=', owner)
    .returning(['failures', 'failing_since'])
    .executeTakeFirst()
  return row && { failures: row.failures, failingSince: row.failing_since }
}

export async function releaseSubscriptions(tx: Tx, owner: string): Promise<void> {
  await tx
    .updateTable('subscription')
    .set({ lease_owner: null, lease_until: 0 })
    .where('lease_owner', '=', owner)
    .execute()
}

function toSubscription(row: SubscriptionRow): SubscriptionRecord {
  return {
    id: row.id,
    settings: JSON.parse(row.settings) as SubscriptionSettings, // written by putSubscription alone
    secrets: row.secrets,
    state: row.state as SubscriptionState,
    offAt: row.off_at,
    offReason: row.off_reason,
    failures: row.failures,
    failingSince: row.failing_since,
    mailAfter: row.mail_after,
  }
}
