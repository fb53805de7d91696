// A clock that is set back: nothing waits longer than it would have, however far back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callFailed, callNotBefore } from '../../src/engine/sessions/circuit-breaker.ts'
import { endFutureLeases, signLife } from '../../src/store/transfers/signs-of-life.ts'
import { testOnBoth, waitFor } from '../support/harness.ts'
import { CODE, channelOf, startRig } from './rig.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const PATIENCE_MS = 60_000

testOnBoth('what waits for its next attempt goes when the clock is set back', async (t, database) => {
  const rig = await startRig(t, { database })
  await rig.putChannel(CODE, channelOf(rig))
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  await rig.store.write((tx) =>
    tx
      .updateTable('transfer')
      .set({ due_at: Date.now() + 5 * MINUTE })
      .execute(),
  )
  rig.run().setAhead(-HOUR)
  await waitFor('its end', async () => (await rig.transfer(id)).state === 'COMPLETED', PATIENCE_MS)
})

test('what a clock that was ahead has left to wait goes at the next start', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig))
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  await rig.store.write((tx) =>
    tx
      .updateTable('transfer')
      .set({ due_at: Date.now() + HOUR })
      .execute(),
  )
  rig.run()
  await waitFor('its end', async () => (await rig.transfer(id)).state === 'COMPLETED', PATIENCE_MS)
})

test('what a node that died had claimed by a clock that was ahead goes at the next start', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig))
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  const at = Date.now() + HOUR
  await rig.store.write(async (tx) => {
    const claimed = { state: 'IN_PROGRESS', started_at: at, due_at: at } as const
    await tx
      .updateTable('transfer')
      .set({ ...claimed, lease_owner: 'gone', lease_until: at + MINUTE })
      .execute()
    await signLife(tx, 'gone', at + MINUTE)
    // As an engine does when it starts.
    await endFutureLeases(tx, Date.now(), MINUTE)
  })
  rig.run()
  await waitFor('its end', async () => (await rig.transfer(id)).state === 'COMPLETED', PATIENCE_MS)
})

testOnBoth('what a dead node holds is taken over after the clock is set back', async (t, database) => {
  const rig = await startRig(t, { database, leaseMs: 1000 })
  await rig.putChannel(CODE, channelOf(rig))
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  const until = Date.now() + MINUTE
  await rig.store.write(async (tx) => {
    const claimed = { state: 'IN_PROGRESS', started_at: 1, lease_owner: 'gone', lease_until: until } as const
    await tx.updateTable('transfer').set(claimed).execute()
    await signLife(tx, 'gone', until)
  })
  const signed = () =>
    rig.store.db.selectFrom('sign_of_life').select('owner').where('owner', '<>', 'gone').executeTakeFirst()
  rig.run()
  await waitFor('the engine to have looked', signed, PATIENCE_MS)
  rig.setAhead(-HOUR)
  await waitFor('its end', async () => (await rig.transfer(id)).state === 'COMPLETED', PATIENCE_MS / 2)
})

testOnBoth('what waits for receipts waits no longer when the clock is set back', async (t, database) => {
  const rig = await startRig(t, { database })
  const channel = channelOf(rig)
  const connection = { advancedConfigurationTransmission: { downloadConf: true, timeoutAck: 60 } }
  await rig.putChannel(CODE, { ...channel, connection })
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  const until = Date.now() + MINUTE
  await rig.store.write(async (tx) => {
    await tx.updateTable('transfer_file').set({ phase: 'ARRIVED', receipt: 'AWAITED' }).execute()
    const waits = { state: 'IN_PROGRESS', started_at: 1, receipts_until: until, due_at: until } as const
    await tx.updateTable('transfer').set(waits).execute()
  })
  rig.run().setAhead(-HOUR)
  const waits = () =>
    rig.store.db.selectFrom('transfer').select('receipts_until').where('id', '=', id).executeTakeFirst()
  const isSooner = async () => ((await waits())?.receipts_until ?? until) < until - HOUR / 2
  await waitFor('a deadline by the new clock', isSooner, PATIENCE_MS)
})

test('a partner that is down is probed when the clock is set back', async (t) => {
  const { context } = await startRig(t)
  const at = (ms: number) => ({ ...context, now: () => 10 * HOUR + ms })
  for (let failure = 0; failure < 3; failure++) await callFailed(at(0), 'acme', 'nobody answers')
  assert.equal(await callNotBefore(at(0), 'acme'), 10 * HOUR + 10_000)
  assert.equal(await callNotBefore(at(-HOUR), 'acme'), 0)
  // One probe at a time, also then.
  assert.equal(await callNotBefore(at(-HOUR), 'acme'), 9 * HOUR + MINUTE)
})
