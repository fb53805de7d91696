import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { channelsIn, showEvent } from '../../src/domain/event.ts'
import { maySeeEvent } from '../../src/domain/event-access.ts'
import { zoneOf } from '../../src/domain/time.ts'
import type { User } from '../../src/domain/user.ts'
import { readConfig } from '../../src/config.ts'
import { readListenerCertificates } from '../../src/files/listener-certificates.ts'
import { makeLog } from '../../src/log.ts'
import type { NotifyParts } from '../../src/notify/parts.ts'
import { takeEvents } from '../../src/notify/take-events.ts'
import { makeUpkeep } from '../../src/notify/upkeep.ts'
import { putContact, putLocalEntity } from '../../src/store/contacts.ts'
import type { Store } from '../../src/store/database/store.ts'
import { eventsAfter } from '../../src/store/events/list.ts'
import { addEvent } from '../../src/store/events/outbox.ts'
import { signLife } from '../../src/store/transfers/signs-of-life.ts'
import { makeTestKey } from '../support/cms-keys.ts'
import { sqlite, tempFolder, testOnBoth, withStore } from '../support/harness.ts'
import { contactOf, seedChannel } from '../support/seed.ts'
import { seal, subscribe } from './scene.ts'

const DAY = 86_400_000
const ZONE = zoneOf('UTC')
const KEEP_DAYS = 90

function upkeepOf(store: Store, listeners: NotifyParts['listeners'] = () => Promise.resolve([])) {
  const log = makeLog('silent', 'test')
  const poster = { post: () => Promise.reject(new Error('nothing is posted')), close: () => {} }
  const parts: NotifyParts = {
    store,
    seal,
    log,
    zone: ZONE,
    owner: 'one',
    leaseMs: 15_000,
    now: Date.now,
    listeners,
    poster,
    mailer: undefined,
  }
  return makeUpkeep(parts, KEEP_DAYS)
}

async function told(store: Store, now: number, type: string): Promise<Record<string, unknown>[]> {
  await takeEvents(store, ZONE, now)
  const rows = await store.db
    .selectFrom('event')
    .selectAll()
    .where('type', '=', type)
    .orderBy('position')
    .execute()
  return rows.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
}

testOnBoth('a node that fell silent is told once, by whoever notices', async (t, database) => {
  const store = await withStore(t, database)
  const now = Date.now()
  await store.write((tx) => signLife(tx, 'host-17-abcdef01-2', now))
  await store.write((tx) => signLife(tx, 'host-18-abcdef02-1', now + 60_000))
  await upkeepOf(store).look(now + 14_000)
  assert.deepEqual(await told(store, now, 'node.lost'), [])
  await Promise.all([upkeepOf(store).look(now + 16_000), upkeepOf(store).look(now + 16_000)])
  await upkeepOf(store).look(now + 17_000)
  assert.deepEqual(await told(store, now, 'node.lost'), [{ node: 'host-17-abcdef01' }])
})

testOnBoth(
  'a certificate is told of a month, a week and a day before its end, and when it has ended',
  async (t, database) => {
    const store = await withStore(t, database)
    const { certificatePem } = await makeTestKey('Acme') // for 30 days
    await store.write(async (tx) => {
      await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
      await putContact(tx, contactOf('acme', 'ACME', []))
      for (const code of ['BANCO-ACME-A', 'BANCO-ACME-B'])
        await seedChannel(tx, seal, code, 'acme', { security: { rsaRemoteKey: certificatePem } })
    })
    const upkeep = upkeepOf(store)
    const end = Date.now() + 30 * DAY
    for (const days of [29.5, 29, 20, 8.5, 6.9, 5, 0.9, 0.5, -0.5, -20]) await upkeep.look(end - days * DAY)
    const all = await told(store, end, 'key.expiring')
    assert.deepEqual(
      all.map(({ days }) => days),
      [29, 6, 0, 0],
    )
    assert.match(String(all[0]?.name), /Acme/)
    assert.equal(all[0]?.use, 'security.rsaRemoteKey')
  },
)

testOnBoth(
  'a certificate of several channels is told once to whoever watches any of them',
  async (t, database) => {
    const store = await withStore(t, database)
    const { certificatePem } = await makeTestKey('Banco') // for 30 days
    await store.write(async (tx) => {
      await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
      for (const code of ['ACME', 'BETA']) {
        await putContact(tx, contactOf(code.toLowerCase(), code, []))
        await seedChannel(tx, seal, `BANCO-${code}-A`, code.toLowerCase(), {
          security: { rsaRemoteKey: certificatePem },
        })
      }
    })
    for (const [id, channels] of [
      ['first', ['BANCO-ACME-*']],
      ['second', ['BANCO-BETA-*']],
      ['both', ['BANCO-*']],
      ['other', ['CAJA-*']],
      ['all', undefined],
    ] as const)
      await subscribe(store, id, {
        webhook: { url: 'http://127.0.0.1:9/' },
        events: ['key.*'],
        ...(channels && { channels: [...channels] }),
      })
    await upkeepOf(store).look(Date.now())
    await takeEvents(store, ZONE, Date.now())
    const made = await store.db.selectFrom('delivery').select('subscription_id').execute()
    assert.deepEqual(made.map((one) => one.subscription_id).toSorted(), ['all', 'both', 'first', 'second'])
    const event = (await eventsAfter(store.db, 0, 10)).find(({ type }) => type === 'key.expiring')
    assert.ok(event)
    assert.deepEqual(channelsIn(event), ['BANCO-ACME-A', 'BANCO-BETA-A'])
    const sees = (codes: string[], svcFF = true) =>
      maySeeEvent(
        { role: 'ROLE_USER', auths: { svcFF } } as unknown as User, // all that it asks for
        event,
        (code) => codes.includes(code),
      )
    assert.deepEqual(
      [sees(['BANCO-BETA-A']), sees(['BANCO-BETA-A'], false), sees(['CAJA-BETA-A'])],
      [true, false, false],
    )
    assert.equal(JSON.stringify(showEvent(event, ZONE)).includes('BANCO-'), false)
  },
)

test('so is one that callers of this node are shown', async (t) => {
  const store = await withStore(t, sqlite)
  const { certificatePem } = await makeTestKey('Listener') // for 30 days
  const folder = await tempFolder(t)
  const path = join(folder, 'tls.crt')
  await writeFile(path, certificatePem)
  const config = readConfig({
    ESCLUSA_DATA_DIR: folder,
    ESCLUSA_TLS_CERT: path,
    ESCLUSA_TLS_KEY: path,
    ESCLUSA_OFTP2_TLS_CERT: join(folder, 'gone.crt'),
    ESCLUSA_OFTP2_TLS_KEY: path,
  })
  await upkeepOf(store, () => readListenerCertificates(config)).look(Date.now())
  const [only, ...others] = await told(store, Date.now(), 'key.expiring')
  assert.deepEqual(others, [])
  assert.equal(only?.use, 'ESCLUSA_TLS_CERT')
  assert.match(String(only.name), /Listener/)
})

testOnBoth(
  'events are kept for their days, and longer while somebody is still to hear of them',
  async (t, database) => {
    const store = await withStore(t, database)
    const now = Date.now()
    await subscribe(store, 'hook', { webhook: { url: 'http://127.0.0.1:9/' }, events: ['node.*'] })
    await store.write(async (tx) => {
      for (const [node, at] of [
        ['old', now - 91 * DAY],
        ['young', now - 89 * DAY],
      ] as const)
        await addEvent(tx, { type: 'node.stopped', at, data: { node } })
      await addEvent(tx, { type: 'channel.updated', at: now - 91 * DAY, channelCode: 'A-B-C', data: {} })
    })
    await takeEvents(store, ZONE, now)
    await upkeepOf(store).look(now)
    const left = async () =>
      (await store.db.selectFrom('event').select('type').orderBy('position').execute()).length
    assert.equal(await left(), 2)
    await store.write((tx) => tx.updateTable('delivery').set({ state: 'DELIVERED' }).execute())
    await upkeepOf(store).look(now)
    assert.equal(await left(), 1)
    assert.equal((await store.db.selectFrom('delivery').selectAll().execute()).length, 1)
  },
)
