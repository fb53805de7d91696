// Transfers of all channels in the order of lists, read along indexes: any choice of states, directions and types is a
// few ranges of one index, a few channels are a few ranges of another. The ranges are read side by side, a stretch at a
// time, and merged. So the newest hundred cost the same among a thousand transfers as among millions.

import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { TRANSFER_DIRECTIONS, TRANSFER_TYPES } from '../../contract/transfer.ts'
import type { TransferDirection, TransferStatus, TransferType } from '../../contract/transfer.ts'
import type { Db } from '../database/store.ts'

export type Listed = {
  id: string
  channelCode: string
  direction: TransferDirection
  state: TransferStatus
  type: TransferType
  listedAt: number
}

export type Order = 'newest' | 'oldest'

export type Ranges = {
  /** Only these channels, where they are few; else all. */
  codes?: readonly string[] | undefined
  states?: readonly TransferStatus[] | undefined
  directions?: readonly TransferDirection[] | undefined
  types?: readonly TransferType[] | undefined
  /** By start, or by request until there is one: from this on, and before that. */
  from?: number | undefined
  before?: number | undefined
}

/** More channels than this are not read one by one. */
export const FEW_CHANNELS = 40

const ENDED = ['COMPLETED', 'FAILED', 'CANCELLED'] as const
const FIRST_STRETCH = 50
const LONGEST_STRETCH = 500

type Range = { where: RawBuilder<unknown>; rows: Listed[]; at: number; stretch: number; over: boolean }
type Span = { order: Order; from?: number | undefined; before?: number | undefined }

/** Of the channels the ranges say nothing more: whoever reads a channel's must look at state, direction and type. */
export async function* walkTransfers(db: Db, ranges: Ranges, order: Order): AsyncGenerator<Listed> {
  const open = rangesOf(ranges).map((where) => ({
    where,
    rows: [],
    at: 0,
    stretch: FIRST_STRETCH,
    over: false,
  }))
  const span = { order, from: ranges.from, before: ranges.before }
  const isBefore = order === 'newest' ? later : (a: Listed, b: Listed) => later(b, a)
  for (;;) {
    await readOn(db, open, span)
    const first = firstOf(open, isBefore)
    if (!first) return
    yield first
  }
}

/** Merges by looking at the head of each: there are a few dozen at the most. */
function firstOf(open: Range[], isBefore: (a: Listed, b: Listed) => boolean): Listed | undefined {
  let best: Range | undefined
  for (const range of open) {
    const row = range.rows[range.at]
    const other = best?.rows[best.at]
    if (row && (!other || isBefore(row, other))) best = range
  }
  const row = best?.rows[best.at]
  if (best) best.at++
  return row
}

function later(a: Listed, b: Listed): boolean {
  return a.listedAt > b.listedAt || (a.listedAt === b.listedAt && a.id > b.id)
}

function rangesOf({ codes, states, directions, types }: Ranges): RawBuilder<unknown>[] {
  if (codes) return codes.map((code) => sql`channel_code = ${code}`)
  const wanted = <T>(all: readonly T[], some: readonly T[] | undefined) =>
    some ? all.filter((one) => some.includes(one)) : all
  const ranges: RawBuilder<unknown>[] = []
  for (const state of wanted<TransferStatus>(ENDED, states))
    for (const direction of wanted(TRANSFER_DIRECTIONS, directions))
      for (const type of wanted(TRANSFER_TYPES, types))
        ranges.push(
          sql`state = ${state} and direction = ${direction} and type = ${type} and ended_at is not null`,
        )
  // Two per channel at the most; the states stand in the text so that the partial index serves.
  ranges.push(sql`state in ('PENDING', 'IN_PROGRESS')`)
  return ranges
}

/** One statement for all ranges that have nothing left of what was read. */
async function readOn(db: Db, open: Range[], span: Span): Promise<void> {
  const empty = open.filter((range) => !range.over && range.at >= range.rows.length)
  if (empty.length === 0) return
  const parts = empty.map(
    (
      range,
      index,
    ) => sql`select ${sql.lit(index)} as part, id, channel_code, direction, state, type, listed_at
      from (select id, channel_code, direction, state, type, listed_at from transfer
        where ${range.where}${bounds(span, range.rows.at(-1))}
        order by listed_at ${downOrUp(span)}, id ${downOrUp(span)} limit ${sql.lit(range.stretch)}) as p`,
  )
  const { rows } = await sql<Row>`${sql.join(parts, sql` union all `)}`.execute(db)
  const byPart = Map.groupBy(rows, (row) => row.part)
  for (const [index, range] of empty.entries()) {
    const read = (byPart.get(index) ?? []).map(toListed)
    range.over = read.length < range.stretch
    range.rows = read
    range.at = 0
    range.stretch = Math.min(LONGEST_STRETCH, range.stretch * 2)
  }
}

type Row = {
  part: number
  id: string
  channel_code: string
  direction: string
  state: string
  type: string
  listed_at: number
}

function downOrUp({ order }: Span): RawBuilder<unknown> {
  return order === 'newest' ? sql`desc` : sql`asc`
}

function bounds({ order, from, before }: Span, last: Listed | undefined): RawBuilder<unknown> {
  const parts: RawBuilder<unknown>[] = [sql``]
  if (from !== undefined) parts.push(sql`listed_at >= ${from}`)
  if (before !== undefined) parts.push(sql`listed_at < ${before}`)
  if (last)
    parts.push(
      order === 'newest'
        ? sql`(listed_at, id) < (${last.listedAt}, ${last.id})`
        : sql`(listed_at, id) > (${last.listedAt}, ${last.id})`,
    )
  return sql.join(parts, sql` and `)
}

function toListed(row: Omit<Row, 'part'>): Listed {
  return {
    id: row.id,
    channelCode: row.channel_code,
    direction: row.direction as TransferDirection, // closed lists, written by the store alone
    state: row.state as TransferStatus,
    type: row.type as TransferType,
    listedAt: row.listed_at,
  }
}

/** In no particular order. */
export async function listedById(db: Db, ids: readonly string[]): Promise<Listed[]> {
  const rows = await db
    .selectFrom('transfer')
    .select(['id', 'channel_code', 'direction', 'state', 'type', 'listed_at'])
    .where('id', 'in', ids)
    .execute()
  return rows.map(toListed)
}
