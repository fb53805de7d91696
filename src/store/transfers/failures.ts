// Failures that wait for a person: which one puts a channel in ERROR, which one a retry takes, and how they are dealt
// with. A channel can have one error per direction: the last transfer that ended in that direction, if it failed and
// was neither retried nor reset. Errors are stored beside the channel's counters, in the transaction that ends a
// transfer or settles a failure. So nobody has to search the transfers for them.
//
// The states are part of the statements' text. Only then do both databases see that a partial index can be used.

import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { TransferDirection, TransferStatus } from '../../contract/transfer.ts'
import { batches } from '../database/batches.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Arg } from '../database/prepared-queries.ts'
import type { Db, Store, Tx } from '../database/store.ts'
import { lockCounters } from './list-positions.ts'

// The errors of a channel

function errorOf(code: RawBuilder<unknown>, way: TransferDirection): RawBuilder<string | null> {
  return sql`(select case when t.state = 'FAILED' and t.settled = 0 then t.id end from transfer t
    where t.channel_code = ${code} and t.direction = ${sql.lit(way)} and t.ended_at is not null
    order by t.ended_at desc, t.position desc limit 1)`
}

/** Works both out anew. The caller holds the channel's counters. */
export async function noteErrors(tx: Tx, channelCode: string): Promise<void> {
  await noteBoth(tx, { channelCode })
}

const noteBoth = hot((db, arg: Arg<{ channelCode: string }>) => {
  const code = sql`${arg('channelCode')}`
  const noting = sql`update channel_state set emission_error_id = found.emission, reception_error_id = found.reception,
      error_id = coalesce(found.emission, found.reception)
    from (select ${errorOf(code, 'EMISION')} as emission, ${errorOf(code, 'RECEPCION')} as reception) as found
    where code = ${code}`
  return { compile: () => noting.compile(db) }
})

/** The same for all channels; looked for only where there is one to find. */
export async function noteAllErrors(tx: Tx): Promise<void> {
  const code = sql.ref('channel_state.code')
  const either = (way: TransferDirection) =>
    sql`case when exists (select 1 from transfer_hour h where h.channel_code = channel_state.code)
      then ${errorOf(code, way)} end`
  await sql`update channel_state set emission_error_id = ${either('EMISION')},
    reception_error_id = ${either('RECEPCION')}`.execute(tx)
  await sql`update channel_state set error_id = coalesce(emission_error_id, reception_error_id)`.execute(tx)
}

/** A node of the version before may have ended or settled transfers since, and noted them by its own rule. */
export async function mendErrors(store: Store): Promise<void> {
  const code = sql.ref('channel_state.code')
  const { rows } = await sql<{ code: string }>`select code from channel_state
    where emission_error_id is distinct from ${errorOf(code, 'EMISION')}
    or reception_error_id is distinct from ${errorOf(code, 'RECEPCION')}`.execute(store.db)
  for (const stale of rows)
    await store.write(async (tx) => {
      await lockCounters(tx, stale.code)
      await noteErrors(tx, stale.code)
    })
}

const anyOf = hot<{ code: string }, { failed: number }>((db, arg) =>
  db
    .selectFrom('channel_state')
    .select(sql<number>`1`.as('failed'))
    .where('code', '=', arg('code'))
    .where(sql<boolean>`(emission_error_id is not null or reception_error_id is not null)`),
)

export async function isInError(db: Db, code: string): Promise<boolean> {
  return (await anyOf(db, { code })).length > 0
}

const everywhere = hot<object, { code: string }>((db) =>
  db
    .selectFrom('channel_state')
    .select('code')
    .where(sql<boolean>`(emission_error_id is not null or reception_error_id is not null)`),
)

export async function channelsInError(db: Db): Promise<string[]> {
  return (await everywhere(db, {})).map(({ code }) => code)
}

// What a retry takes

export type Ended = { id: string; direction: TransferDirection; state: TransferStatus; settled: boolean }
type EndedRow = { id: string; direction: string; state: string; settled: number }

const lastOf = hot<{ code: string; direction: string }, EndedRow>((db, arg) =>
  db
    .selectFrom('transfer')
    .select(['id', 'direction', 'state', 'settled'])
    .where('channel_code', '=', arg('code'))
    .where('direction', '=', arg('direction'))
    .where('ended_at', 'is not', null)
    .orderBy('ended_at', 'desc')
    .orderBy('position', 'desc')
    .limit(1),
)

/** The transfer that ended last in a direction. */
export async function lastEnded(
  db: Db,
  code: string,
  direction: TransferDirection,
): Promise<Ended | undefined> {
  return (await lastOf(db, { code, direction })).map(toEnded)[0]
}

const RETRIABLE = sql<boolean>`state = 'FAILED' and settled = 0 and (direction = 'EMISION' or type <> 'REMOTE')`
const UNSETTLED = sql<boolean>`state = 'FAILED' and settled = 0`

const lastWhere = (condition: typeof RETRIABLE) =>
  hot<{ code: string }, EndedRow>((db, arg) =>
    db
      .selectFrom('transfer')
      .select(['id', 'direction', 'state', 'settled'])
      .where('channel_code', '=', arg('code'))
      .where(condition)
      .orderBy('ended_at', 'desc')
      .orderBy('position', 'desc')
      .limit(1),
  )
const retriable = lastWhere(RETRIABLE)
const unsettled = lastWhere(UNSETTLED)

/** The failure that a retry takes. */
export async function lastRetriable(db: Db, code: string): Promise<Ended | undefined> {
  return (await retriable(db, { code })).map(toEnded)[0]
}

/** The last failure that nobody has dealt with, whoever could. */
export async function lastUnsettled(db: Db, code: string): Promise<Ended | undefined> {
  return (await unsettled(db, { code })).map(toEnded)[0]
}

const FAILURES_LOOKED_AT = 10

/** Emissions that failed and that nobody has dealt with, newest first by their place in the list: clocks may be set. */
export async function failedEmissions(db: Db, code: string): Promise<string[]> {
  const rows = await failedEmissionRows(db, code).execute()
  return rows.map((row) => row.id)
}

/** The `+` keeps SQLite from going through all that the channel ever sent, by the index of positions. */
export function failedEmissionRows(db: Db, code: string) {
  return db
    .selectFrom('transfer')
    .select('id')
    .where('channel_code', '=', code)
    .where('direction', '=', 'EMISION')
    .where(UNSETTLED)
    .orderBy(sql`+position`, 'desc')
    .limit(FAILURES_LOOKED_AT)
}

/** For each of some channels the failure that a retry would take. */
export async function retriableOf(db: Db, codes: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const some of batches([...new Set(codes)])) {
    const rows = await db
      .selectFrom('channel_state')
      .select((eb) => [
        'channel_state.code',
        eb
          .selectFrom('transfer')
          .select('transfer.id')
          .whereRef('transfer.channel_code', '=', 'channel_state.code')
          .where(RETRIABLE)
          .orderBy('ended_at', 'desc')
          .orderBy('position', 'desc')
          .limit(1)
          .as('id'),
      ])
      .where('channel_state.code', 'in', some)
      .execute()
    for (const { code, id } of rows) if (id !== null) found.set(code, id)
  }
  return found
}

function toEnded({ id, direction, state, settled }: EndedRow): Ended {
  return {
    id,
    direction: direction as TransferDirection, // closed lists, written by the store alone
    state: state as TransferStatus,
    settled: settled === 1,
  }
}

// Dealing with them

/** Marks a failure as retried. False: it was dealt with already. */
export async function settle(tx: Tx, id: string): Promise<boolean> {
  const found = await tx.selectFrom('transfer').select('channel_code').where('id', '=', id).executeTakeFirst()
  if (!found) return false
  // Before the row itself, as everybody does.
  await lockCounters(tx, found.channel_code)
  const done = await tx
    .updateTable('transfer')
    .set({ settled: 1 })
    .where('id', '=', id)
    .where('settled', '=', 0)
    .returning('id')
    .executeTakeFirst()
  if (done) await noteErrors(tx, found.channel_code)
  return done !== undefined
}

/** A reset deals with every failure there was. */
export async function settleAll(tx: Tx, code: string): Promise<void> {
  await lockCounters(tx, code)
  await tx
    .updateTable('transfer')
    .set({ settled: 1 })
    .where('channel_code', '=', code)
    .where(UNSETTLED)
    .execute()
  await noteErrors(tx, code)
}
