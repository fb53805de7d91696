// Received files that did not pass their checks. The row outlives the file.
//
// States: WAITING for a person. RELEASING: the decision is durable, the file is being put in place; then RELEASED, or
// WAITING again if its name was taken meanwhile. DISCARDING: the decision is durable, the bytes are being removed; then
// DISCARDED. Every move compares the state, so of two people who decide at once one succeeds.

import { hot } from './database/prepared-queries.ts'
import type { Arg } from './database/prepared-queries.ts'
import type { Db, Tx } from './database/store.ts'
import type { Tables } from './database/tables.ts'
import { addEvent } from './events/outbox.ts'

export type QuarantineState = 'WAITING' | 'RELEASING' | 'RELEASED' | 'DISCARDING' | 'DISCARDED'

export type QuarantinedFile = {
  id: string
  transferId: string
  /** Empty: nobody knows any more. */
  channelCode: string
  name: string
  /** The bytes as they came. */
  path: string
  size: number
  hash: string
  /** The file itself, where what came could be opened. */
  opened: { path: string; size: number; hash: string } | null
  code: string
  reason: string
  quarantinedAt: number
  state: QuarantineState
  target: string | null
  openedMark: string | null
  decidedAt: number | null
  decidedBy: string | null
}

export type NewlyQuarantined = Omit<
  QuarantinedFile,
  'state' | 'target' | 'openedMark' | 'decidedAt' | 'decidedBy'
>

/** Once for each path, and told with it. */
export async function insertQuarantined(tx: Tx, file: NewlyQuarantined): Promise<void> {
  const row = {
    id: file.id,
    transfer_id: file.transferId,
    channel_code: file.channelCode,
    name: file.name,
    path: file.path,
    size: file.size,
    hash: file.hash,
    opened_path: file.opened?.path ?? null,
    opened_size: file.opened?.size ?? null,
    opened_hash: file.opened?.hash ?? null,
    code: file.code,
    reason: file.reason,
    quarantined_at: file.quarantinedAt,
    state: 'WAITING',
    target: null,
    opened_mark: null,
    decided_at: null,
    decided_by: null,
  }
  const made = await tx
    .insertInto('quarantined_file')
    .values(row)
    .onConflict((conflict) => conflict.column('path').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!made) return
  const { transferId, name: fileName, size, hash, reason, channelCode } = file
  await addEvent(tx, {
    type: 'file.quarantined',
    at: file.quarantinedAt,
    ...(channelCode !== '' && { channelCode }),
    data: { transferId, fileName, size, hash: `sha256:${hash}`, reason },
  })
}

const MOST_LISTED = 10_000

/** Newest first, so many at the most. */
export async function listQuarantined(
  db: Db,
  filter: { states?: readonly QuarantineState[] | undefined; channelCode?: string | undefined },
): Promise<QuarantinedFile[]> {
  let query = db
    .selectFrom('quarantined_file')
    .selectAll()
    .orderBy('quarantined_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MOST_LISTED)
  if (filter.states) query = query.where('state', 'in', filter.states)
  if (filter.channelCode !== undefined) query = query.where('channel_code', '=', filter.channelCode)
  return (await query.execute()).map(toFile)
}

export async function findQuarantined(db: Db, id: string): Promise<QuarantinedFile | undefined> {
  const row = await db.selectFrom('quarantined_file').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toFile(row)
}

/** Decisions that were not carried out, because whoever decided was killed. */
export async function undoneDecisions(db: Db, before: number): Promise<QuarantinedFile[]> {
  const rows = await db
    .selectFrom('quarantined_file')
    .selectAll()
    .where('state', 'in', ['RELEASING', 'DISCARDING'])
    .where('decided_at', '<', before)
    .orderBy('decided_at')
    .limit(100)
    .execute()
  return rows.map(toFile)
}

/** Some of those that came before that time and wait for a decision. */
export async function waitingSince(db: Db, before: number): Promise<QuarantinedFile[]> {
  const rows = await db
    .selectFrom('quarantined_file')
    .selectAll()
    .where('state', '=', 'WAITING')
    .where('quarantined_at', '<', before)
    .orderBy('quarantined_at')
    .limit(100)
    .execute()
  return rows.map(toFile)
}

export async function forgetDecided(tx: Tx, before: number): Promise<void> {
  await tx
    .deleteFrom('quarantined_file')
    .where('state', 'in', ['RELEASED', 'DISCARDED'])
    .where('quarantined_at', '<', before)
    .where('decided_at', '<', before)
    .execute()
}

export async function quarantinedPaths(db: Db): Promise<Set<string>> {
  const rows = await db.selectFrom('quarantined_file').select('path').execute()
  return new Set(rows.map(({ path }) => path))
}

export type Move = {
  from: QuarantineState
  to: QuarantineState
  /** Where it is released to; the row must have this one before, where a release goes on under another name. */
  target?: string | null
  insteadOf?: string | null
  openedMark?: string | null
  by?: string | null
  at?: number | null
}

/** False: it is in another state by now. */
export async function moveQuarantined(tx: Tx, id: string, move: Move): Promise<boolean> {
  let query = tx
    .updateTable('quarantined_file')
    .set({
      state: move.to,
      ...(move.target !== undefined && { target: move.target }),
      ...(move.openedMark !== undefined && { opened_mark: move.openedMark }),
      ...(move.by !== undefined && { decided_by: move.by }),
      ...(move.at !== undefined && { decided_at: move.at }),
    })
    .where('id', '=', id)
    .where('state', '=', move.from)
  if (move.insteadOf != null) query = query.where('target', '=', move.insteadOf)
  return (await query.returning('id').executeTakeFirst()) !== undefined
}

/** A released file lies in its place, as one that came in the usual way. */
export async function tellReleased(tx: Tx, file: QuarantinedFile, at: number): Promise<void> {
  const { transferId, name: fileName, opened, channelCode } = file
  const known = opened && { size: opened.size, hash: `sha256:${opened.hash}` }
  await addEvent(tx, { type: 'file.received', at, channelCode, data: { transferId, fileName, ...known } })
}

function toFile(row: Tables['quarantined_file']): QuarantinedFile {
  const { opened_path: path, opened_size: size, opened_hash: hash } = row
  return {
    id: row.id,
    transferId: row.transfer_id,
    channelCode: row.channel_code,
    name: row.name,
    path: row.path,
    size: row.size,
    hash: row.hash,
    opened: path !== null && size !== null && hash !== null ? { path, size, hash } : null,
    code: row.code,
    reason: row.reason,
    quarantinedAt: row.quarantined_at,
    state: row.state as QuarantineState, // written by this file alone
    target: row.target,
    openedMark: row.opened_mark,
    decidedAt: row.decided_at,
    decidedBy: row.decided_by,
  }
}

/** What of a partner's files lies there and was not decided. */
const waitingOfContact = hot((db, arg: Arg<{ contactId: string }>) =>
  db
    .selectFrom('quarantined_file')
    .innerJoin('channel', 'channel.code', 'quarantined_file.channel_code')
    .select(['quarantined_file.size', 'quarantined_file.opened_size'])
    .where('channel.contact_id', '=', arg('contactId'))
    .where('quarantined_file.state', '=', 'WAITING'),
)

export async function quarantinedOf(db: Db, contactId: string): Promise<{ octets: number; files: number }> {
  const rows = await waitingOfContact(db, { contactId })
  return {
    files: rows.length,
    octets: rows.reduce((sum, { size, opened_size }) => sum + size + (opened_size ?? 0), 0),
  }
}
