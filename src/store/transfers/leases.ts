// Who runs a transfer. A claim puts a lease on the row and raises its fence, a number. From then on only a writer with
// that fence may change the row. An engine keeps what it has claimed as long as it renews its sign of life
// (signs-of-life.ts): one small write keeps a thousand leases. When a node dies, its sign of life ends and others claim
// its transfers. A node that only slept finds at its next write that its fence is outdated, and must stop.

import type { ExpressionBuilder } from 'kysely'
import type { TransferRecord } from '../../domain/transfer.ts'
import { PARKED } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { batches } from '../database/batches.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Answer, Arg } from '../database/prepared-queries.ts'
import type { Db, Dialect, Store, Tx } from '../database/store.ts'
import type { Tables, TransferFileRow } from '../database/tables.ts'
import { TOLD_OF_FILE, isDelivered, tellFile } from '../events/told.ts'
import type { FileState, ToldOfFile } from '../events/told.ts'
import { toTransfer } from './transfer-rows.ts'
import { nameKey } from './file-names.ts'
import { isActive } from './active.ts'

export type Claim = { transfer: TransferRecord; snapshot: string | null }
export type Holder = { owner: string; until: number; now: number }

/**
 * Claims due transfers that nobody holds, oldest first. On PostgreSQL, rows that another node is claiming are skipped.
 */
export async function claimDue(store: Store, holder: Holder, limit: number): Promise<Claim[]> {
  const { urgent, dialect } = store
  // First looks without a lock: an idle node must not write at every tick.
  if ((await dueAndFree(urgent.db, holder.now, 1).execute()).length === 0) return []
  return urgent.write(async (tx) => {
    let query = dueAndFree(tx, holder.now, limit)
    if (dialect.rowLocks) query = query.forUpdate('transfer').skipLocked()
    return take(tx, await query.execute(), holder)
  })
}

function dueAndFree(db: Db, now: number, limit: number) {
  return db
    .selectFrom('transfer')
    .select('transfer.id')
    .where(isActive)
    .where('due_at', '<=', now)
    .where(heldByNobody(now))
    .orderBy('due_at')
    .limit(limit)
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

export type Held = { id: string; fence: number }

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

/** What the engine holds according to the database. What a reset or another node has taken is not among it. */
export async function heldBy(db: Db, owner: string): Promise<Held[]> {
  return db
    .selectFrom('transfer')
    .select(['id', 'fence'])
    .where(isActive)
    .where('lease_owner', '=', owner)
    .execute()
}

/** Gives up claims that nobody works on. Any node may claim them next. */
export async function letGo(tx: Tx, held: readonly Held[]): Promise<void> {
  for (const { id, fence } of held)
    await tx
      .updateTable('transfer')
      .set({ lease_owner: null, lease_until: null })
      .where('id', '=', id)
      .where('fence', '=', fence)
      .where(isActive)
      .execute()
}

/**
 * Gives a claim back as it is, to be looked at again at `dueAt`. `noted`: it was tried, and what it waits for. False: it is no
 * longer ours to give.
 */
export async function parkClaim(
  tx: Tx,
  held: Held,
  dueAt: number,
  noted?: { attempts: number; error: string },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('transfer')
    .set({ lease_owner: null, lease_until: null, due_at: dueAt, ...noted })
    .where('id', '=', held.id)
    .where('fence', '=', held.fence)
    .where(isActive)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * What waits (for its hours, for the partner's call, for its next attempt) is looked at again: the configuration of
 * these channels has changed.
 */
export async function unparkTransfers(tx: Tx, codes: readonly string[], now: number): Promise<void> {
  for (const some of batches(codes))
    await tx
      .updateTable('transfer')
      .set({ due_at: now })
      .where('channel_code', 'in', some)
      .where(isActive)
      .where('state', '=', 'PENDING')
      .execute()
}

export type Waits = {
  /** What waits for a time after this one; for receipts, after that one. */
  after: number
  receiptsAfter: number
  now: number
}

/** They are looked at again. How many there were. */
export async function endWaits(tx: Tx, { after, receiptsAfter, now }: Waits): Promise<number> {
  const all = tx
    .updateTable('transfer')
    .set({ due_at: now })
    .where(isActive)
    .where('lease_owner', 'is', null)
    .where('due_at', '<', PARKED)
  const attempts = await all
    .where((eb) =>
      eb.or([
        eb('state', '=', 'PENDING'),
        eb.and([eb('state', '=', 'IN_PROGRESS'), eb('receipts_until', 'is', null)]),
      ]),
    )
    .where('due_at', '>', after)
    .executeTakeFirst()
  const receipts = await all
    .where('state', '=', 'IN_PROGRESS')
    .where('receipts_until', 'is not', null)
    .where('due_at', '>', receiptsAfter)
    .executeTakeFirst()
  return Number(attempts.numUpdatedRows + receipts.numUpdatedRows)
}

const selectHeld = (db: Db, arg: Arg<Held>) =>
  db.selectFrom('transfer').select(['state', 'fence']).where('id', '=', arg('id'))
const heldRow = hot(selectHeld)
const heldLocked = hot((db, arg: Arg<Held>) => selectHeld(db, arg).forUpdate())

/**
 * Locks the transfer for this transaction and makes sure that it is still ours. Every write of a run begins with it.
 */
export async function requireHeld(tx: Tx, dialect: Dialect, held: Held): Promise<void> {
  await requireOurs(dialect.rowLocks ? heldLocked : heldRow, tx, held)
}

/** The same without a lock, for what is done outside the database right after. */
export async function requireHeldNow(db: Db, held: Held): Promise<void> {
  await requireOurs(heldRow, db, held)
}

async function requireOurs(look: typeof heldRow, db: Db, held: Held): Promise<void> {
  const [row] = await look(db, held)
  if (!row || row.state === 'CANCELLED') throw new NodeError('cancelled', `transfer ${held.id} was cancelled`)
  if (row.fence !== held.fence || row.state !== 'IN_PROGRESS')
    throw new NodeError('lease_lost', `transfer ${held.id} is no longer held by this node`)
}

/**
 * Changes of one file, under the claim. The one that delivers it is told. `known`: the file as its holder knows it. A
 * receipt may come at any moment, so where one is awaited the row is asked.
 */
export async function updateFile(
  tx: Tx,
  held: Held,
  index: number,
  changes: Partial<TransferFileRow>,
  known?: KnownFile,
): Promise<void> {
  const file = { transferId: held.id, index }
  const tells = TELLING.has(changes.phase ?? '')
  const sure = known?.receipt === 'NONE' ? known : undefined
  const [before] = tells ? (sure ? [sure] : await fileState(tx, file)) : []
  const set = changes.name === undefined ? changes : { ...changes, name_key: nameKey(changes.name) }
  const [written] = await fileUpdate(set, tells && !sure)(tx, { ...set, ...file })
  const after = tells && sure ? { ...sure, ...set, transfer_id: held.id } : written
  // The moment of the write itself: what it tells is true from now on.
  if (before && after && !isDelivered(before) && isDelivered(after)) await tellFile(tx, after, Date.now())
}

type KnownFile = FileState & Omit<ToldOfFile, 'transfer_id'>

const TELLING: ReadonlySet<string> = new Set(['ARRIVED', 'PLACED', 'DONE'])

type FileOf = { transferId: string; index: number }

const fileState = hot((db, arg: Arg<FileOf>) =>
  db
    .selectFrom('transfer_file')
    .select(['phase', 'receipt'])
    .where('transfer_id', '=', arg('transferId'))
    .where('idx', '=', arg('index')),
)

type FileUpdate = (tx: Tx, args: Partial<TransferFileRow> & FileOf) => Answer<ToldOfFile>

/** There are about a dozen sets of columns that change together. */
const fileUpdates = new Map<string, FileUpdate>()

function fileUpdate(changes: Partial<TransferFileRow>, tells: boolean): FileUpdate {
  const columns = Object.keys(changes) as (keyof TransferFileRow)[] // what a partial row has
  const name = `${columns.join()} ${tells}`
  const known = fileUpdates.get(name)
  if (known) return known
  const made = hot<Partial<TransferFileRow> & FileOf, ToldOfFile>((db, arg) => {
    const update = db
      .updateTable('transfer_file')
      .set(Object.fromEntries(columns.map((column) => [column, arg(column)])))
      .where('transfer_id', '=', arg('transferId'))
      .where('idx', '=', arg('index'))
    // Without it no row comes back, whatever its type would be.
    return tells ? update.returning(TOLD_OF_FILE) : update
  })
  fileUpdates.set(name, made)
  return made
}

/** The next time at which something may be due. The dispatcher waits until then. */
export async function nextDueAt(db: Db): Promise<number | undefined> {
  const row = await db
    .selectFrom('transfer')
    .select('due_at')
    .where(isActive)
    .where('lease_until', 'is', null)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst()
  return row?.due_at
}

/** The configuration a transfer started with, and what its scripts printed. */
export async function setSnapshot(tx: Tx, held: Held, snapshot: string): Promise<void> {
  await tx
    .updateTable('transfer')
    .set({ snapshot })
    .where('id', '=', held.id)
    .where('fence', '=', held.fence)
    .execute()
}

export async function addOutput(tx: Tx, transferId: string, text: string, limit: number): Promise<void> {
  const row = await tx.selectFrom('transfer').select('output').where('id', '=', transferId).executeTakeFirst()
  const output = ((row?.output ?? '') + text).slice(-limit)
  await tx.updateTable('transfer').set({ output }).where('id', '=', transferId).execute()
}
