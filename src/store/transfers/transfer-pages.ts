// Pages of a channel's transfers: ranges of their positions (list-positions.ts).

import { newest } from '../../domain/newest.ts'
import type { TransferStatus } from '../../contract/transfer.ts'
import { isOver } from '../../domain/transfer.ts'
import type { TransferRecord } from '../../domain/transfer.ts'
import { batches } from '../database/batches.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Db } from '../database/store.ts'
import { toTransfer } from './transfer-rows.ts'

type Span = { code: string; from: number; to: number }

const countOf = hot<{ code: string }, { transfer_count: number; transfers_gone: number }>((db, arg) =>
  db.selectFrom('channel_state').select(['transfer_count', 'transfers_gone']).where('code', '=', arg('code')),
)
const firstAt = hot<{ code: string; at: number }, { position: number }>((db, arg) =>
  db
    .selectFrom('transfer')
    .select('position')
    .where('channel_code', '=', arg('code'))
    .where('listed_at', '>=', arg('at'))
    .orderBy('listed_at')
    .orderBy('id')
    .limit(1),
)
const between = hot<Span, { id: string; state: string; error: string | null }>((db, arg) =>
  db
    .selectFrom('transfer')
    .select(['id', 'state', 'error'])
    .where('channel_code', '=', arg('code'))
    .where('position', '>=', arg('from'))
    .where('position', '<=', arg('to'))
    .orderBy('position', 'desc'),
)

/** How many the channel has had so far. It never becomes less. */
export async function countTransfers(db: Db, code: string): Promise<number> {
  return (await countOf(db, { code }))[0]?.transfer_count ?? 0
}

export type TransferPage = {
  offset: number
  size: number
  from?: number | undefined
  before?: number | undefined
}

/** Newest first. `from` (included) and `before` (not included) limit listed_at. */
export async function pageOfTransfers(db: Db, code: string, asked: TransferPage) {
  const [state] = await countOf(db, { code })
  const count = state?.transfer_count ?? 0
  const low =
    asked.from === undefined ? (state?.transfers_gone ?? 0) + 1 : await rankOf(db, code, asked.from, count)
  const high = asked.before === undefined ? count : (await rankOf(db, code, asked.before, count)) - 1
  const total = Math.max(0, high - low + 1)
  const to = high - asked.offset
  if (to < low) return { total, transfers: [] }
  const span = { code, from: Math.max(low, to - asked.size + 1), to }
  const listed = (await between(db, span)) as Listed[]
  let transfers = pages.get(listed)
  if (!transfers) pages.set(listed, (transfers = await readTransfers(db, listed)))
  return { total, transfers }
}

/** Position of the first transfer listed at or after that time. If there is none, the position after the last. */
async function rankOf(db: Db, code: string, at: number, count: number): Promise<number> {
  return (await firstAt(db, { code, at }))[0]?.position ?? count + 1
}

type Listed = { id: string; state: TransferStatus; error: string | null }

// SQLite's reader returns the same array of rows while nothing changes (sqlite.ts).
const pages = new WeakMap<readonly Listed[], readonly TransferRecord[]>()

// A transfer that is over is read once and kept. Two things of it may still change: `settled`, which lists do not show, and
// the error, which a late receipt adds to.
const over = newest<TransferRecord>(20_000)

async function readTransfers(db: Db, listed: readonly Listed[]): Promise<TransferRecord[]> {
  const known = listed.map(({ id, state, error }) => {
    const kept = isOver(state) ? over.get(id) : undefined
    return kept?.error === error ? kept : undefined
  })
  const missing = listed.filter((_, index) => known[index] === undefined).map(({ id }) => id)
  const read = new Map<string, TransferRecord>()
  for (const some of batches(missing))
    for (const transfer of await transfersById(db, some)) {
      read.set(transfer.id, transfer)
      if (isOver(transfer.state)) over.set(transfer.id, transfer)
    }
  return listed.flatMap(({ id }, index) => known[index] ?? read.get(id) ?? [])
}

/** With their files; in no particular order. */
export async function transfersById(db: Db, ids: readonly string[]): Promise<TransferRecord[]> {
  const rows = await db.selectFrom('transfer').selectAll().where('id', 'in', ids).execute()
  const files = await db
    .selectFrom('transfer_file')
    .selectAll()
    .where('transfer_id', 'in', ids)
    .orderBy('idx')
    .execute()
  const byTransfer = Map.groupBy(files, (file) => file.transfer_id)
  return rows.map((row) => toTransfer(row, byTransfer.get(row.id) ?? []))
}
