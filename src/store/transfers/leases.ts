// Who runs a transfer. A claim (claims.ts) puts a lease on the row and raises its fence, a number. From then on only a writer with
// that fence may change the row. An engine keeps what it has claimed as long as it renews its sign of life
// (signs-of-life.ts): one small write keeps a thousand leases. When a node dies, its sign of life ends and others claim
// its transfers. A node that only slept finds at its next write that its fence is outdated, and must stop.

import { PARKED } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { batches } from '../database/batches.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Answer, Arg } from '../database/prepared-queries.ts'
import type { Db, Dialect, Tx } from '../database/store.ts'
import type { TransferFileRow } from '../database/tables.ts'
import { TOLD_OF_FILE, isDelivered, tellFile } from '../events/told.ts'
import type { FileState, ToldOfFile } from '../events/told.ts'
import { nameKey } from './file-names.ts'
import { isActive } from './active.ts'

export type Held = { id: string; fence: number }

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
  const [row] = await nextDue(db, {})
  return row?.due_at
}

const nextDue = hot<object, { due_at: number }>((db) =>
  db
    .selectFrom('transfer')
    .select('due_at')
    .where(isActive)
    .where('lease_until', 'is', null)
    .orderBy('due_at')
    .limit(1),
)

/** The configuration a transfer started with, and what its scripts printed. */
export async function setSnapshot(tx: Tx, { id, fence }: Held, snapshot: string): Promise<void> {
  await keepSnapshot(tx, { id, fence, snapshot })
}

const keepSnapshot = hot((db, arg: Arg<Held & { snapshot: string }>) =>
  db
    .updateTable('transfer')
    .set({ snapshot: arg('snapshot') })
    .where('id', '=', arg('id'))
    .where('fence', '=', arg('fence')),
)

export async function addOutput(tx: Tx, transferId: string, text: string, limit: number): Promise<void> {
  const row = await tx.selectFrom('transfer').select('output').where('id', '=', transferId).executeTakeFirst()
  const output = ((row?.output ?? '') + text).slice(-limit)
  await tx.updateTable('transfer').set({ output }).where('id', '=', transferId).execute()
}
