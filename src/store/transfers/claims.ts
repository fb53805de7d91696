// Claims: which transfers an engine takes, and how they become its own (leases.ts says what that means).

import type { ExpressionBuilder } from 'kysely'
import type { TransferRecord } from '../../domain/transfer.ts'
import { batches } from '../database/batches.ts'
import type { Db, Dialect, Store, Tx } from '../database/store.ts'
import type { Tables } from '../database/tables.ts'
import type { Held } from './leases.ts'
import { isActive } from './active.ts'
import { toTransfer } from './transfer-rows.ts'

export type Claim = { transfer: TransferRecord; snapshot: string | null }
export type Holder = { owner: string; until: number; now: number }

/** Whose transfers may be claimed: no partner is to have all. */
export type Choice = {
  /** False: no more of this partner's, and it is `full` from now on. */
  take(contactId: string): boolean
  full(): string[]
  /** Whether to look for others behind what waits of those that are full: the more that is, the longer it takes. */
  looksPast(): boolean
}

const ANYBODY: Choice = { take: () => true, full: () => [], looksPast: () => true }

export type DueClaim = Claim & { contactId: string | undefined }

/**
 * Claims due transfers that nobody holds, oldest first. On PostgreSQL, rows that another node is claiming are skipped.
 * `choice` is made anew for each try.
 */
export async function claimDue(
  store: Store,
  holder: Holder,
  limit: number,
  choice: () => Choice = () => ANYBODY,
): Promise<DueClaim[]> {
  const { urgent, dialect } = store
  // First looks without a lock: an idle node must not write at every tick.
  const before = choice()
  const full = before.full()
  if (full.length > 0 && !before.looksPast()) return []
  if ((await dueAndFree(urgent.db, holder.now, 1, full).execute()).length === 0) return []
  return urgent.write(async (tx) => {
    const chosen = await choose(tx, dialect, { now: holder.now, limit, choice: choice() })
    const claims = await take(tx, chosen, holder)
    const contacts = new Map(chosen.map(({ id, contact_id }) => [id, contact_id ?? undefined]))
    return claims.map((claim) => ({ ...claim, contactId: contacts.get(claim.transfer.id) }))
  })
}

type Found = { id: string; contact_id: string | null }

/** Looks again where some were not to be taken: others may stand behind them. */
async function choose(
  tx: Tx,
  dialect: Dialect,
  { now, limit, choice }: { now: number; limit: number; choice: Choice },
): Promise<Found[]> {
  const chosen = new Map<string, Found>()
  for (;;) {
    let query = dueAndFree(tx, now, limit, choice.full())
    if (dialect.rowLocks) query = query.forUpdate('transfer').skipLocked()
    let refused = false
    for (const row of await query.execute()) {
      if (chosen.size >= limit || chosen.has(row.id)) continue
      if (row.contact_id === null || choice.take(row.contact_id)) chosen.set(row.id, row)
      else refused = true
    }
    if (!refused || chosen.size >= limit || !choice.looksPast()) return [...chosen.values()]
  }
}

function dueAndFree(db: Db, now: number, limit: number, without: readonly string[]) {
  const due = db
    .selectFrom('transfer')
    .select((eb) => ['transfer.id', contactOf(eb).as('contact_id')])
    .where(isActive)
    .where('due_at', '<=', now)
    .where(heldByNobody(now))
    .orderBy('due_at')
    .limit(limit)
  if (without.length === 0) return due
  return due.where((eb) => eb.not(eb.exists(contactOf(eb).where('contact_id', 'in', without))))
}

/** The partner that the transfer's channel is with. */
function contactOf(eb: ExpressionBuilder<Tables, 'transfer'>) {
  return eb.selectFrom('channel').select('contact_id').whereRef('channel.code', '=', 'transfer.channel_code')
}

/** Never claimed, given back, or claimed by an engine whose lease and sign of life have both run out. */
function heldByNobody(now: number) {
  return (eb: ExpressionBuilder<Tables, 'transfer'>) =>
    eb.or([
      eb('transfer.lease_until', 'is', null),
      eb.and([
        eb('transfer.lease_until', '<', now),
        eb.not(
          eb.exists(
            eb
              .selectFrom('sign_of_life')
              .select('sign_of_life.owner')
              .whereRef('sign_of_life.owner', '=', 'transfer.lease_owner')
              .where('alive_until', '>=', now),
          ),
        ),
      ]),
    ])
}

/**
 * Claims what waits on these channels, whatever its due time: the partner is on the line now. So does what a dead node
 * had begun; what has gone and waits for receipts is nobody's and stays.
 */
export async function claimForChannels(
  store: Store,
  holder: Holder,
  codes: readonly string[],
  limit: number,
): Promise<Claim[]> {
  if (codes.length === 0) return []
  return store.write(async (tx) => {
    const found: { id: string; requested_at: number }[] = []
    for (const some of batches(codes)) {
      let query = tx
        .selectFrom('transfer')
        .select(['transfer.id', 'transfer.requested_at'])
        .where('transfer.channel_code', 'in', some)
        .where(isActive)
        .where((eb) =>
          eb.or([
            eb('transfer.state', '=', 'PENDING'),
            eb.and([eb('transfer.state', '=', 'IN_PROGRESS'), eb('transfer.lease_until', 'is not', null)]),
          ]),
        )
        .where('transfer.direction', '=', 'EMISION')
        .where(heldByNobody(holder.now))
        .orderBy('transfer.requested_at')
        .limit(limit)
      if (store.dialect.rowLocks) query = query.forUpdate('transfer').skipLocked()
      found.push(...(await query.execute()))
    }
    const first = found.toSorted((a, b) => a.requested_at - b.requested_at).slice(0, limit)
    return take(tx, first, holder)
  })
}

/** Claims in the order given, with a few statements for all: a dead node's transfers are taken over together. */
async function take(tx: Tx, found: readonly { id: string }[], holder: Holder): Promise<Claim[]> {
  const claims = new Map<string, Claim>()
  for (const some of batches(found.map(({ id }) => id))) {
    const rows = await tx
      .updateTable('transfer')
      .set((eb) => ({
        lease_owner: holder.owner,
        lease_until: holder.until,
        fence: eb('fence', '+', 1),
      }))
      .where('id', 'in', some)
      .returningAll()
      .execute()
    const files = await tx
      .selectFrom('transfer_file')
      .selectAll()
      .where('transfer_id', 'in', some)
      .orderBy('transfer_id')
      .orderBy('idx')
      .execute()
    const byTransfer = Map.groupBy(files, (file) => file.transfer_id)
    for (const row of rows)
      claims.set(row.id, {
        transfer: toTransfer(row, byTransfer.get(row.id) ?? []),
        snapshot: row.snapshot,
      })
  }
  return found.flatMap(({ id }) => claims.get(id) ?? [])
}

/** A transfer that begins with its holder: a partner's file is coming in. */
export async function claimNew(
  tx: Tx,
  held: Held,
  { owner, until }: Pick<Holder, 'owner' | 'until'>,
): Promise<void> {
  await tx
    .updateTable('transfer')
    .set({ fence: held.fence, lease_owner: owner, lease_until: until })
    .where('id', '=', held.id)
    .execute()
}
