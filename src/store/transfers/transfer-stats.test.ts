import assert from 'node:assert/strict'
import { testOnBoth, withStore } from '../../../test/support/harness.ts'
import { contactOf, seedChannel } from '../../../test/support/seed.ts'
import { putContact, putLocalEntity } from '../contacts.ts'
import { HOUR_MS, HOURS_KEPT } from './transfer-stats.ts'
import type { Store } from '../database/store.ts'
import { makeSeal } from '../seal.ts'
import { insertTransfer, moveTransfer } from './transfers.ts'

const BUSY = 'BANCO-ACME-BUSY'
const QUIET = 'BANCO-ACME-QUIET'

async function end(store: Store, channelCode: string, hour: number, nth = 0): Promise<void> {
  const id = `${channelCode} ${hour} ${nth}`
  const now = hour * HOUR_MS + nth
  const made = { direction: 'EMISION', type: 'MANUAL', requestedBy: null, retryOf: null } as const
  await store.write(async (tx) => {
    await insertTransfer(tx, { id, channelCode, ...made, now, files: [] })
    await moveTransfer(tx, id, { from: 'PENDING', to: 'CANCELLED', now })
  })
}

async function hoursOf({ db }: Store, code: string): Promise<{ hour: number; cancelled: number }[]> {
  return db
    .selectFrom('transfer_hour')
    .select(['hour', 'cancelled'])
    .where('channel_code', '=', code)
    .orderBy('hour')
    .execute()
}

testOnBoth('counters by hour are kept for two days, then go as new ones come', async (t, database) => {
  const store = await withStore(t, database)
  await store.write(async (tx) => {
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', []))
    for (const code of [BUSY, QUIET]) await seedChannel(tx, makeSeal('0'.repeat(32)), code, 'acme', {})
  })
  const first = 480_000
  await end(store, QUIET, first)
  for (let hour = first; hour < first + HOURS_KEPT; hour++) await end(store, BUSY, hour)
  assert.equal((await hoursOf(store, BUSY)).length, HOURS_KEPT)
  // The hour that drops out, and a second end in the same hour, which finds nothing more to do.
  for (const nth of [0, 1]) await end(store, BUSY, first + HOURS_KEPT, nth)
  const kept = await hoursOf(store, BUSY)
  assert.deepEqual([kept.length, kept[0]?.hour], [HOURS_KEPT, first + 1])
  assert.deepEqual(kept.at(-1), { hour: first + HOURS_KEPT, cancelled: 2 })
  // After a long silence all of them at once; other channels are left alone.
  await end(store, BUSY, first + 1000)
  assert.deepEqual(await hoursOf(store, BUSY), [{ hour: first + 1000, cancelled: 1 }])
  assert.equal((await hoursOf(store, QUIET)).length, 1)
})
