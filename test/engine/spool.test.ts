// Emissions that a partner calls to take: what it finds, and what becomes of it when the transfer ends otherwise.

import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import { outboxOf } from '../../src/engine/sending/outbox-spool.ts'
import { clearStrays, sweepStrays } from '../../src/engine/staging/leftovers.ts'
import { makeStaging } from '../../src/engine/staging/staging.ts'
import { NodeError } from '../../src/errors.ts'
import type { Store } from '../../src/store/database/store.ts'
import { removeTransfers } from '../../src/store/retention/old-transfers.ts'
import { testOnBoth, waitFor } from '../support/harness.ts'
import type { TestDatabase } from '../support/harness.ts'
import { reachAll } from '../support/reach.ts'
import { Line } from './line.ts'
import { CODE, channelOf, startRig } from './rig.ts'
import type { Rig } from './rig.ts'

/** The partner has access here, and nobody calls it. */
async function spoolRig(t: TestContext, change: Channel = {}, database?: TestDatabase): Promise<Rig> {
  const rig = await startRig(t, { transports: [new Line()], ...(database && { database }) })
  await rig.putContact({ id: 'acme', protocol: 'sftp', settings: { access: { username: 'acme' } } })
  await rig.putChannel(CODE, channelOf(rig, change))
  return rig
}

const CONFIRMED: Channel = {
  connection: { advancedConfigurationTransmission: { downloadConf: true, timeoutAck: 900 } },
}

/** What the partner sees when it calls. */
function outbox(rig: Rig) {
  const found = outboxOf(rig.context, reachAll('acme'), () => rig.wake())
  return {
    names: async () => (await found.list('NOMINA')).map(({ name }) => name),
    take: async (name: string) => {
      const entry = await found.find('NOMINA', name)
      assert.ok(entry, `${name} is not there`)
      const file = await found.open('NOMINA', entry)
      const bytes = Buffer.alloc(entry.size)
      assert.equal(await file.read(bytes, 0), entry.size)
      await file.close()
      await found.taken('NOMINA', entry, 'read')
      return bytes.toString()
    },
  }
}

const copies = (rig: Rig): Promise<string[]> => readdir(join(rig.place.dataDir, 'outbox')).catch(() => [])

async function waits(rig: Rig, id: string): Promise<void> {
  await waitFor('it waits for the partner', async () => (await rig.transfer(id)).receiptsUntil !== null)
}

testOnBoth(
  'what was handed over stays when another file of the transfer fails, or a reset comes',
  async (t, database) => {
    const rig = await spoolRig(t, { integrations: { postEmisionAction: 'EMISION_DELETE' } }, database)
    await rig.put('a.txt', 'payroll')
    const path = await rig.put('b.txt', 'b')
    const { id } = await rig.send()
    // It is another file by the time that it is to go.
    await writeFile(path, 'changed')
    rig.run()
    const { state, files } = await rig.ended(id)
    assert.deepEqual([state, files[0]?.phase], ['FAILED', 'DONE'])
    assert.deepEqual(await rig.list('out'), ['b.txt'], 'the original is gone, as the channel says')
    assert.deepEqual(await outbox(rig).names(), ['a.txt'])
    await rig.reset()
    assert.equal(await outbox(rig).take('a.txt'), 'payroll')
    assert.deepEqual(await copies(rig), [])
  },
)

testOnBoth('what nobody took in time is withdrawn, and a retry lays it out again', async (t, database) => {
  const rig = (await spoolRig(t, CONFIRMED, database)).run()
  await rig.put('a.txt', 'a')
  await rig.put('b.txt', 'b')
  const { id } = await rig.send()
  await waits(rig, id)
  assert.equal(await outbox(rig).take('a.txt'), 'a')
  await waitFor('that is noted', async () => (await rig.transfer(id)).files[0]?.receipt === 'POSITIVE')
  await waits(rig, id)
  rig.setAhead(901_000)
  assert.equal((await rig.ended(id)).state, 'FAILED')
  assert.equal(await rig.errorCode(id), 'receipt_late')
  assert.deepEqual(await outbox(rig).names(), [])
  await waitFor('its copy is gone', async () => (await copies(rig)).length === 0)
  const retried = await rig.retry()
  await waits(rig, retried.id)
  assert.deepEqual(await outbox(rig).names(), ['b.txt'], 'the other one was taken')
  assert.equal(await outbox(rig).take('b.txt'), 'b')
  assert.equal((await rig.ended(retried.id)).state, 'COMPLETED')
})

/** A file that waits for the partner to take it. */
async function laidOut(t: TestContext, database?: TestDatabase) {
  const rig = (await spoolRig(t, CONFIRMED, database)).run()
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  await waits(rig, id)
  return { rig, id }
}

testOnBoth(
  'a reset hides what lies ready in the same moment, whatever the node does',
  async (t, database) => {
    const { rig, id } = await laidOut(t, database)
    assert.deepEqual(await outbox(rig).names(), ['a.txt'])
    await rig.reset(CODE, { tell: false })
    assert.deepEqual(await outbox(rig).names(), [])
    rig.dispatcher.cancel(id)
    await waitFor('its copy is gone', async () => (await copies(rig)).length === 0)
  },
)

testOnBoth(
  'who has read a file that was withdrawn meanwhile hears that it does not count',
  async (t, database) => {
    const { rig, id } = await laidOut(t, database)
    const found = outboxOf(rig.context, reachAll('acme'), () => rig.wake())
    const first = await found.find('NOMINA', 'a.txt')
    assert.ok(first)
    rig.setAhead(901_000)
    assert.equal((await rig.ended(id)).state, 'FAILED')
    const gone = { code: 'file_missing' }
    await assert.rejects(found.taken('NOMINA', first, 'read'), gone)
    const retried = await rig.retry()
    await waits(rig, retried.id)
    await assert.rejects(found.taken('NOMINA', first, 'removed'), gone, 'another entry has its name')
    await assert.rejects(found.open('NOMINA', first), gone)
    const second = await found.find('NOMINA', 'a.txt')
    assert.ok(second)
    // Over two sessions at once, and once more.
    await Promise.all([found.taken('NOMINA', second, 'read'), found.taken('NOMINA', second, 'removed')])
    await found.taken('NOMINA', second, 'removed')
    assert.equal((await rig.ended(retried.id)).state, 'COMPLETED')
  },
)

testOnBoth(
  'of two files with one name in a transfer the second waits where it is until the first was taken',
  async (t, database) => {
    const rig = await startRig(t, { transports: [new Line()], workers: 1, database })
    await rig.putContact({ id: 'acme', protocol: 'sftp', settings: { access: { username: 'acme' } } })
    const second = join(rig.place.files, 'second')
    const directories = ['out', 'second'].map((name) => ({
      direction: 'EMISION' as const,
      filePath: join(rig.place.files, name),
    }))
    await rig.putChannel(
      CODE,
      channelOf(rig, { directories, integrations: { postEmisionAction: 'EMISION_DELETE' } }),
    )
    // So many that the first one has long been laid out when the last one's turn comes.
    for (let nth = 0; nth < 30; nth++) await rig.put(`f${nth}.txt`, `first ${nth}`)
    await rig.put('f0.txt', 'second 0', second)
    rig.run()
    const { id, state } = await rig.sendAndEnd()
    assert.equal(state, 'FAILED')
    assert.equal(await rig.errorCode(id), 'name_taken')
    assert.deepEqual(await rig.list('out'), [])
    assert.deepEqual(await rig.list('second'), ['f0.txt'])
    assert.equal((await outbox(rig).names()).length, 30)
    assert.equal(await outbox(rig).take('f0.txt'), 'first 0')
    assert.equal((await rig.ended((await rig.retry()).id)).state, 'COMPLETED')
    assert.equal(await outbox(rig).take('f0.txt'), 'second 0')
    assert.deepEqual(await rig.list('second'), [])
  },
)

testOnBoth('what the partner has not taken outlives the time of its transfer', async (t, database) => {
  const rig = await spoolRig(t, { integrations: { postEmisionAction: 'EMISION_DELETE' } }, database)
  await rig.put('a.txt', 'payroll')
  const { state } = await rig.run().sendAndEnd()
  assert.equal(state, 'COMPLETED')
  const later = Date.now() + 86_400_000
  const age = () => rig.store.write((tx) => removeTransfers(tx, CODE, later, 50))
  assert.equal(await age(), 0)
  await sweepStrays({ ...rig.context, now: () => later })
  assert.equal(await outbox(rig).take('a.txt'), 'payroll')
  assert.equal(await age(), 1)
})

/** `write` takes the place of the engine's. */
function standingIn(rig: Rig, write: (real: Store['write']) => Store['write']): void {
  const store = rig.context.store as { write: Store['write'] }
  store.write = write(store.write.bind(store))
}

const isLaidOut = (rig: Rig) =>
  rig.store.db
    .selectFrom('outbox_file')
    .select('id')
    .execute()
    .then((rows) => rows.length > 0)

test('a node that sleeps before it lays the file out shows nothing of what was cancelled meanwhile', async (t) => {
  const rig = (await spoolRig(t, CONFIRMED)).run()
  let slept = false
  standingIn(rig, (real) => async (change) => {
    const lies = (await copies(rig)).length > 0
    const [file] = await rig.store.db.selectFrom('transfer_file').selectAll().execute()
    // The copy is made, and it is noted that the partner may see it next.
    if (lies && file?.maybe_visible === 1 && !slept) {
      slept = true
      await rig.reset(CODE, { tell: false })
    }
    return real(change)
  })
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  assert.equal((await rig.ended(id)).state, 'CANCELLED')
  assert.ok(slept)
  await waitFor('its copy is gone', async () => (await copies(rig)).length === 0)
  assert.deepEqual(await outbox(rig).names(), [])
})

test('a node that starts leaves the copy of one that sleeps, and what is shown can be read', async (t) => {
  const rig = (await spoolRig(t, { integrations: { postEmisionAction: 'EMISION_DELETE' } })).run()
  let slept = false
  standingIn(rig, (real) => async (change) => {
    const lies = (await copies(rig)).length > 0
    const [file] = await rig.store.db.selectFrom('transfer_file').selectAll().execute()
    if (lies && file?.maybe_visible === 1 && !slept) {
      slept = true
      // The sign of life of the sleeping one has run out.
      const starting = { ...rig.context, owner: 'starting', now: () => Date.now() + 3_600_000 }
      await clearStrays(starting)
      await sweepStrays({ ...starting, staging: makeStaging(rig.place.dataDir) })
    }
    return real(change)
  })
  await rig.put('a.txt', 'payroll')
  const { id, state } = await rig.sendAndEnd()
  assert.ok(slept)
  assert.equal(state, 'COMPLETED')
  assert.equal(await outbox(rig).take('a.txt'), 'payroll')
  await writeFile(join(rig.place.dataDir, 'outbox', `${id}.left`), 'x')
  await clearStrays(rig.context)
  assert.deepEqual(await copies(rig), [], 'it is over, and nobody adds a row to it')
})

test('where nobody knows whether the database has written it, the next attempt finds out', async (t) => {
  const rig = (await spoolRig(t, CONFIRMED)).run()
  let lost = false
  standingIn(rig, (real) => async (change) => {
    const before = await isLaidOut(rig)
    const value = await real(change)
    if (lost || before || !(await isLaidOut(rig))) return value
    lost = true
    throw new NodeError('unavailable', 'the database does not answer')
  })
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  await waits(rig, id)
  assert.ok(lost)
  assert.equal(await outbox(rig).take('a.txt'), 'a')
  assert.equal((await rig.ended(id)).state, 'COMPLETED')
  assert.deepEqual(await copies(rig), [])
})

test('what the partner took before the attempt that laid it out could note that is not laid out again', async (t) => {
  const rig = (await spoolRig(t, CONFIRMED)).run()
  let taken: string | undefined
  standingIn(rig, (real) => async (change) => {
    const value = await real(change)
    if (taken !== undefined || !(await isLaidOut(rig))) return value
    taken = ''
    taken = await outbox(rig).take('a.txt')
    throw new NodeError('unavailable', 'the database does not answer')
  })
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  assert.equal((await rig.ended(id)).state, 'COMPLETED')
  assert.equal(taken, 'a')
  assert.deepEqual(await outbox(rig).names(), [])
})

test('copies that no row speaks of go, those that lie ready stay', async (t) => {
  const { rig } = await laidOut(t)
  const [ready = ''] = await copies(rig)
  const stray = () => writeFile(join(rig.place.dataDir, 'outbox', 'stray'), 'x')
  await stray()
  await sweepStrays(rig.context)
  assert.deepEqual(await copies(rig), [ready, 'stray'].toSorted(), 'it may be about to get its row')
  await sweepStrays({ ...rig.context, now: () => Date.now() + 11 * 60_000 })
  assert.deepEqual(await copies(rig), [ready])
  await stray()
  await clearStrays(rig.context)
  assert.deepEqual(await copies(rig), [ready])
  assert.equal(await outbox(rig).take('a.txt'), 'a')
})
