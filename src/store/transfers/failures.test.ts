import assert from 'node:assert/strict'
import { CompiledQuery, sql } from 'kysely'
import type { Compilable } from 'kysely'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sqlite, testOnBoth, withStore } from '../../../test/support/harness.ts'
import type { TestDatabase } from '../../../test/support/harness.ts'
import { contactOf, seedChannel } from '../../../test/support/seed.ts'
import type { TransferDirection, TransferStatus, TransferType } from '../../contract/transfer.ts'
import { putContact, putLocalEntity } from '../contacts.ts'
import { makeSeal } from '../seal.ts'
import { failedRows } from '../overview.ts'
import {
  channelsInError,
  failedEmissionRows,
  isInError,
  lastEnded,
  lastRetriable,
  lastUnsettled,
  mendErrors,
  retriableOf,
  settle,
  settleAll,
} from './failures.ts'
import { lastSending } from './sent-files.ts'
import { recountEnded } from './transfer-stats.ts'
import { insertTransfer, moveTransfer } from './transfers.ts'

const CODE = 'BANCO-ACME-NOMINA'
const OTHER = 'BANCO-ACME-FACTURA'

type Kind = { code?: string; direction?: TransferDirection; type?: TransferType }
const RECEIVED: Kind = { direction: 'RECEPCION', type: 'REMOTE' }

async function scene(t: TestContext, database: TestDatabase) {
  const store = await withStore(t, database)
  await store.write(async (tx) => {
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', []))
    for (const code of [CODE, OTHER]) await seedChannel(tx, makeSeal('0'.repeat(32)), code, 'acme', {})
  })
  const begin = (
    id: string,
    now: number,
    { code = CODE, direction = 'EMISION', type = 'MANUAL' }: Kind = {},
  ) =>
    store.write((tx) =>
      insertTransfer(tx, {
        id,
        channelCode: code,
        direction,
        type,
        requestedBy: null,
        retryOf: null,
        now,
        files: [],
      }),
    )
  const move = (id: string, from: TransferStatus, to: TransferStatus, now: number) =>
    store.write((tx) => moveTransfer(tx, id, { from, to, now }))
  const leave = async (id: string, to: TransferStatus, now: number, kind?: Kind) => {
    await begin(id, now, kind)
    await move(id, 'PENDING', 'IN_PROGRESS', now)
    await move(id, 'IN_PROGRESS', to, now)
  }
  return { store, db: store.db, begin, move, leave }
}

testOnBoth('a failure is settled once, and its channel is then no longer in error', async (t, database) => {
  const { store, db, leave } = await scene(t, database)
  await leave('a', 'FAILED', 1000)
  assert.deepEqual(await channelsInError(db), [CODE])
  const settled = await Promise.all(Array.from({ length: 5 }, () => store.write((tx) => settle(tx, 'a'))))
  assert.equal(settled.filter(Boolean).length, 1)
  assert.equal((await lastEnded(db, CODE, 'EMISION'))?.settled, true)
  assert.deepEqual(await channelsInError(db), [])
  assert.equal(await store.write((tx) => settle(tx, 'none')), false)
})

testOnBoth('the last that ended is told by its end, in each direction', async (t, database) => {
  const { db, begin, move } = await scene(t, database)
  await begin('first', 1000)
  await move('first', 'PENDING', 'IN_PROGRESS', 1001)
  await begin('second', 2000, RECEIVED)
  await move('second', 'PENDING', 'FAILED', 3000)
  await move('first', 'IN_PROGRESS', 'COMPLETED', 4000)
  await begin('third', 5000)
  assert.equal((await lastEnded(db, CODE, 'EMISION'))?.id, 'first')
  assert.equal((await lastEnded(db, CODE, 'RECEPCION'))?.id, 'second')
  assert.equal(await lastEnded(db, OTHER, 'EMISION'), undefined)
  assert.deepEqual([await isInError(db, CODE), await isInError(db, OTHER)], [true, false])
})

testOnBoth('what a retry takes is the latest failure that the partner did not start', async (t, database) => {
  const { store, db, leave } = await scene(t, database)
  assert.equal(await lastRetriable(db, CODE), undefined)
  await leave('a', 'FAILED', 1000)
  await leave('b', 'FAILED', 2000, { direction: 'RECEPCION', type: 'AUTOMATIC' })
  await leave('c', 'FAILED', 3000, RECEIVED)
  await leave('d', 'COMPLETED', 4000)
  await leave('e', 'FAILED', 5000, { code: OTHER, ...RECEIVED })
  assert.deepEqual([(await lastRetriable(db, CODE))?.id, (await lastUnsettled(db, CODE))?.id], ['b', 'c'])
  assert.deepEqual([...(await retriableOf(db, [CODE, OTHER, CODE, 'none']))], [[CODE, 'b']])
  await store.write((tx) => settle(tx, 'b'))
  assert.equal((await lastRetriable(db, CODE))?.id, 'a')
  await store.write((tx) => settleAll(tx, CODE))
  assert.equal(await lastUnsettled(db, CODE), undefined)
  assert.deepEqual(await channelsInError(db), [OTHER])
})

testOnBoth(
  'a recount and a mend find what was kept, also where another version kept it by its own rule',
  async (t, database) => {
    const { store, db, leave } = await scene(t, database)
    await leave('a', 'FAILED', 1000)
    await leave('b', 'COMPLETED', 2000, RECEIVED)
    await leave('c', 'FAILED', 3000, { code: OTHER })
    const read = () => db.selectFrom('channel_state').selectAll().orderBy('code').execute()
    const kept = await read()
    assert.deepEqual(
      kept.map((row) => [row.code, row.error_id, row.emission_error_id, row.reception_error_id]),
      [
        [OTHER, 'c', 'c', null],
        [CODE, 'a', 'a', null],
      ],
    )
    await store.write((tx) => recountEnded(tx))
    assert.deepEqual(await read(), kept)
    // As a node of the version before leaves it: `c` was retried, `a` failed, and only error_id says so.
    await db.updateTable('transfer').set({ settled: 1 }).where('id', '=', 'c').execute()
    await db.updateTable('channel_state').set({ error_id: null }).where('code', '=', OTHER).execute()
    await db.updateTable('channel_state').set({ emission_error_id: null }).where('code', '=', CODE).execute()
    await mendErrors(store)
    assert.deepEqual(await channelsInError(db), [CODE])
  },
)

test('each of these reads goes along an index of its own, whatever the length of the table', async (t) => {
  const { db } = await scene(t, sqlite)
  const plan = async (query: string) => {
    const { rows } = await sql<{ detail: string }>`${sql.raw(`explain query plan ${query}`)}`.execute(db)
    return rows.map(({ detail }) => detail).join('; ')
  }
  const of = "from transfer where channel_code = 'x'"
  const last = 'order by ended_at desc, position desc limit 1'
  const failed = "state = 'FAILED' and settled = 0"
  assert.match(
    await plan(`select id ${of} and direction = 'EMISION' and ended_at is not null ${last}`),
    /transfer_last_each_way/,
  )
  assert.match(
    await plan(`select id ${of} and ${failed} and (direction = 'EMISION' or type <> 'REMOTE') ${last}`),
    /transfer_retriable/,
  )
  assert.match(await plan(`select id ${of} and ${failed} ${last}`), /transfer_(unsettled|retriable)/)
  assert.match(
    await plan(
      'select code from channel_state where (emission_error_id is not null or reception_error_id is not null)',
    ),
    /channel_state_errors/,
  )
  const planOf = async (query: Compilable) => {
    const { sql: text, parameters } = query.compile()
    const { rows } = await db.executeQuery(CompiledQuery.raw(`explain query plan ${text}`, [...parameters]))
    return JSON.stringify(rows)
  }
  assert.match(await planOf(failedEmissionRows(db, 'x')), /transfer_(unsettled|retriable)/)
  const file = { channelCode: 'x', name: 'x', hash: 'x', size: 1, transferId: 'x' }
  assert.match(await planOf(lastSending(db, file)), /transfer_file_hash/)
  const given = { from: 1, at: 2, id: 'x' }
  assert.match(await planOf(failedRows(db, (name) => given[name])), /COVERING INDEX transfer_failed /)
})
