// Channels that work by themselves, with a clock that is set ahead.

import assert from 'node:assert/strict'
import { rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import { spanMs } from '../../src/domain/calendar/windows.ts'
import type { Automation } from '../../src/store/channels.ts'
import { testOnBoth, waitFor } from '../support/harness.ts'
import { Line } from './line.ts'
import { CODE, channelOf, startRig } from './rig.ts'
import type { Rig, RigOptions } from './rig.ts'

const MOVED = (rig: Rig): Channel => ({
  integrations: { postEmisionAction: 'EMISION_MOVE', postEmisionDirectory: join(rig.place.files, 'done') },
})

async function automated(t: TestContext, automation: Automation, options: RigOptions = {}): Promise<Rig> {
  const rig = await startRig(t, options)
  await rig.putChannel(CODE, channelOf(rig, MOVED(rig)), { automation })
  rig.run().automate(t)
  return rig
}

async function ranAt(rig: Rig, code?: string): Promise<number | undefined> {
  const rows = await rig.store.db.selectFrom('automation_run').selectAll().execute()
  const row = rows.find((one) => code === undefined || one.channel_code === code)
  return row?.held_until === 0 ? row.ran_at : undefined
}

/** A whole look of the automation has gone by since. */
async function looked(rig: Rig): Promise<void> {
  await waitFor('a turn is over', () => ranAt(rig))
}

testOnBoth('watch sends what appears and fetches what the partner has', async (t, database) => {
  const rig = await automated(t, { watch: true }, { database })
  await rig.put('a.txt', 'a')
  await rig.offer('b.txt', 'b')
  await waitFor('it is sent', async () => (await rig.inbox()).includes('a.txt'))
  await waitFor('it is fetched', async () => (await rig.list('in')).includes('b.txt'))
  const rows = await rig.store.db.selectFrom('transfer').select(['direction', 'type']).execute()
  assert.deepEqual(rows.map(({ direction, type }) => `${direction} ${type}`).sort(), [
    'EMISION AUTOMATIC',
    'RECEPCION AUTOMATIC',
  ])
  await rig.put('c.txt', 'c')
  await waitFor('the next one too', async () => (await rig.inbox()).includes('c.txt'))
})

test('every: nothing before the time has passed, then once', async (t) => {
  // It has its turn at each look, after the other: so it tells that there was one.
  const later = 'BANCO-ACME-WATCHED'
  const rig = await automated(t, { every: '10m' })
  const other: Channel = {
    direction: 'EMISION',
    directories: [{ direction: 'EMISION', filePath: join(rig.place.files, 'other') }],
  }
  await rig.putChannel(later, other, { automation: { watch: true } })
  await rig.put('a.txt', 'a')
  const first = await waitFor('its first turn', () => ranAt(rig, CODE))
  rig.setAhead(9 * 60_000)
  const ahead = rig.context.now()
  await waitFor('a look since', async () => ((await ranAt(rig, later)) ?? 0) >= ahead)
  assert.equal(await ranAt(rig, CODE), first)
  assert.deepEqual(await rig.inbox(), [])
  rig.setAhead(60_000)
  await waitFor('it is sent', async () => (await rig.inbox()).includes('a.txt'))
})

test('cron: at its minutes, in the node’s time zone', async (t) => {
  const rig = await startRig(t)
  rig.setClock('05:58')
  await rig.putChannel(CODE, channelOf(rig, MOVED(rig)), { automation: { cron: '0 6 * * *' } })
  rig.run().automate(t)
  await rig.put('a.txt', 'a')
  await looked(rig)
  assert.deepEqual(await rig.inbox(), [])
  rig.setClock('06:00')
  await waitFor('it is sent', async () => (await rig.inbox()).includes('a.txt'))
})

test('a plan that cannot be read does not stop the clock of the others', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel('BANCO-ACME-AAA', channelOf(rig), { automation: { cron: 'not a plan' } })
  await rig.store.write((tx) =>
    tx
      .insertInto('automation_run')
      .values({ channel_code: 'BANCO-ACME-AAA', ran_at: 1, held_by: null, held_until: 0 })
      .execute(),
  )
  await rig.putChannel(CODE, channelOf(rig, MOVED(rig)), { automation: { watch: true } })
  rig.run().automate(t)
  await rig.put('a.txt', 'a')
  await waitFor('it is sent', async () => (await rig.inbox()).includes('a.txt'))
})

test('outside its hours, closed or inactive, a channel takes no turn', async (t) => {
  const rig = await startRig(t)
  rig.setClock('05:00')
  const hours = { advancedConfigurationConnection: { initialHour: '08:00', finishHour: '09:00' } }
  await rig.putChannel(CODE, channelOf(rig, { connection: hours }), { automation: { watch: true } })
  await rig.putChannel('BANCO-ACME-OFF', channelOf(rig, { deactivateChannel: true }), {
    automation: { watch: true },
  })
  rig.run().automate(t)
  await rig.put('a.txt', 'a')
  await rig.offer('b.txt', 'b')
  await waitFor('one of them had its turn', async () => (await ranAt(rig)) !== undefined)
  assert.deepEqual([await rig.inbox(), await rig.list('in')], [[], []])
  assert.equal((await rig.store.db.selectFrom('transfer').selectAll().execute()).length, 0)
})

testOnBoth('of two engines one takes each turn', async (t, database) => {
  const rig = await automated(t, { watch: true }, { database })
  const other = await startRig(t, { beside: rig })
  other.run().automate(t)
  for (let round = 0; round < 3; round++) {
    await rig.put(`${round}.txt`, 'x')
    await rig.offer(`in-${round}.txt`, 'y')
    await waitFor('it is sent', async () => (await rig.inbox()).includes(`${round}.txt`))
    await waitFor('it is fetched', async () => (await rig.list('in')).includes(`in-${round}.txt`))
  }
  assert.equal((await rig.list('in')).length, 3)
  assert.equal((await rig.inbox()).length, 3)
})

test('watch sends a file that stays where it is once, also where duplicates may be sent', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig, { allowSendDuplicateFiles: true }), {
    automation: { watch: true },
  })
  rig.run().automate(t)
  const path = await rig.put('a.txt', 'a')
  await waitFor('it is sent', async () => (await rig.inbox()).includes('a.txt'))
  await rm(join(rig.place.inbox, 'a.txt'))
  const before = await ranAt(rig)
  await waitFor('the next turn is over', async () => ((await ranAt(rig)) ?? 0) > (before ?? Infinity))
  assert.deepEqual(await rig.inbox(), [])
  const then = Date.now() / 1000 - 30
  await utimes(path, then, then)
  await waitFor('it is sent again', async () => (await rig.inbox()).includes('a.txt'))
})

test('a clock that was ahead and is set back does not stop the automation', async (t) => {
  const rig = await startRig(t)
  rig.setAhead(3_600_000)
  await rig.putChannel(CODE, channelOf(rig), { automation: { watch: true } })
  rig.run().automate(t)
  await waitFor('a turn', () => rig.store.db.selectFrom('automation_run').selectAll().executeTakeFirst())
  rig.setAhead(0)
  await rig.put('late.txt', 'late')
  await waitFor('it to be sent', async () => (await rig.inbox()).includes('late.txt'))
})

test('a plan whose turn a clock that was ahead has taken has it when its time comes', async (t) => {
  const rig = await startRig(t)
  rig.setClock('05:58')
  await rig.putChannel(CODE, channelOf(rig, MOVED(rig)), { automation: { cron: '0 6 * * *' } })
  const ahead = rig.context.now() + 3 * 86_400_000
  await rig.store.write((tx) =>
    tx
      .insertInto('automation_run')
      .values({ channel_code: CODE, ran_at: ahead, held_by: null, held_until: 0 })
      .execute(),
  )
  rig.run().automate(t)
  await rig.put('a.txt', 'a')
  await waitFor('its clock', async () => ((await ranAt(rig, CODE)) ?? ahead) < ahead)
  assert.deepEqual(await rig.inbox(), [])
  rig.setClock('06:00')
  await waitFor('it is sent', async () => (await rig.inbox()).includes('a.txt'))
})

test('spans are read in seconds, minutes, hours and days', () => {
  assert.deepEqual(['5s', '10m', '2h', '1d'].map(spanMs), [5000, 600_000, 7_200_000, 86_400_000])
})

test('a partner that does not bring its receipts is called for them', async (t) => {
  const line = new Line({
    protocol: 'oftp2',
    capabilities: { receipts: true, remoteHash: false },
    onPush: async (push) => ({ ...(await push()), receipt: 'awaited' }),
  })
  const rig = await startRig(t, { transports: [line] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: 'oftp2' })
  const connection = { ips: ['127.0.0.1'], advancedConfigurationTransmission: { downloadConf: true } }
  await rig.putChannel(CODE, channelOf(rig, { connection }))
  rig.run().automate(t)
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  await waitFor('it waits for the receipt', async () => (await rig.transfer(id)).receiptsUntil !== null)
  for (const session of line.sessions) await session.close()
  const calls = line.calls.length
  await waitFor('another call, minutes later', () => {
    rig.setAhead(10_000)
    return line.calls.length > calls
  })
  assert.equal((await rig.transfer(id)).state, 'IN_PROGRESS')
})
