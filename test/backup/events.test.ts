// What happened since the backup is known after a restore that has the database before: it is not told a second time, not
// forgotten, and no file that came counts as missing.

import assert from 'node:assert/strict'
import { zoneOf } from '../../src/domain/time.ts'
import type { Expectation } from '../../src/contract/calendar.ts'
import { watchExpectations } from '../../src/notify/expectations/watch.ts'
import { takeEvents } from '../../src/notify/take-events.ts'
import { openStore } from '../../src/store/database/open.ts'
import type { Store } from '../../src/store/database/store.ts'
import { findDeliveries, recordOutcome } from '../../src/store/events/deliveries.ts'
import { addEvent } from '../../src/store/events/outbox.ts'
import { positionOf } from '../../src/store/events/event-id.ts'
import { eventsAfter, findEvents, placeAfter } from '../../src/store/events/list.ts'
import { putSubscription } from '../../src/store/events/subscriptions.ts'
import { findDay } from '../../src/store/expectations/expectation-days.ts'
import { putExpectations } from '../../src/store/expectations/expectations.ts'
import type { Settings } from '../crash/node-process.ts'
import { testOnBoth } from '../support/harness.ts'
import { SALARIES, setScene } from './scene.ts'

const ZONE = zoneOf('UTC')
const NEWEST = { order: 'desc', beyond: undefined, limit: 1 } as const
const DAY = '2026-03-02'
const at = (time: string) => Date.parse(`${DAY}T${time}Z`)

async function withStore<T>(settings: Settings, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore({
    dataDir: settings.ESCLUSA_DATA_DIR ?? '',
    databaseUrl: settings.ESCLUSA_DATABASE_URL,
  })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** What a node does of itself at that time. */
async function tick(store: Store, time: string): Promise<void> {
  await takeEvents(store, ZONE, at(time))
  await watchExpectations(store, ZONE, at(time))
  await takeEvents(store, ZONE, at(time))
}

testOnBoth(
  'a file that came since the backup is not missed after the restore, also where its expectation was changed since',
  async (t, database) => {
    const scene = await setScene(t, database)
    const due = { channel: SALARIES, direction: 'EMISION', from: '18:00', by: '22:00' } as const
    const expectations: Expectation[] = [
      { id: 'payroll', ...due },
      { id: 'changed', ...due },
      { id: 'none came', ...due, files: 'other*' },
    ]
    await withStore(scene.settings, async (store) => {
      await store.write((tx) => putExpectations(tx, expectations))
      await tick(store, '17:00')
    })
    await scene.run('backup', scene.at('backup.tar.gz'))
    await withStore(scene.settings, async (store) => {
      await store.write((tx) =>
        addEvent(tx, {
          type: 'file.sent',
          at: at('19:00'),
          channelCode: SALARIES,
          data: { transferId: 't', fileName: 'pay.txt' },
        }),
      )
      await tick(store, '19:00')
      await store.write((tx) => putExpectations(tx, [{ id: 'changed', ...due, by: '23:00' }]))
    })
    await scene.run('restore', scene.at('backup.tar.gz'), '--replace')
    await withStore(scene.settings, async (store) => {
      for (const time of ['21:00', '22:30']) await tick(store, time)
      const states: Record<string, string | undefined> = {}
      for (const { id } of expectations) states[id] = (await findDay(store.db, id, DAY))?.state
      assert.deepEqual(states, { payroll: 'met', changed: 'met', 'none came': 'missed' })
      const told = await store.db
        .selectFrom('event')
        .select('body')
        .where('type', '=', 'expectation.missed')
        .execute()
      const missed = told.map(({ body }) => (JSON.parse(body) as { expectation: string }).expectation)
      assert.deepEqual(missed, ['none came'])
    })
  },
)

testOnBoth(
  'events that wait to be told are told after the restore, those that were are not told again',
  async (t, database) => {
    const scene = await setScene(t, database)
    const happens = (store: Store, node: string) =>
      store.write((tx) => addEvent(tx, { type: 'node.stopped', at: at('12:00'), data: { node } }))
    const subscribe = (store: Store, id: string) =>
      store.write((tx) =>
        putSubscription(tx, {
          id,
          settings: { webhook: { url: 'https://ops.example/hook' }, events: ['node.stopped'] },
          secrets: '',
        }),
      )
    const take = (store: Store) => takeEvents(store, ZONE, at('12:00'))
    await withStore(scene.settings, async (store) => {
      await take(store)
      await subscribe(store, 'hook')
      await subscribe(store, 'removed since')
      await happens(store, 'told since')
      await take(store)
      await happens(store, 'placed since')
    })
    await scene.run('backup', scene.at('backup.tar.gz'))
    await withStore(scene.settings, async (store) => {
      const [first] = await findDeliveries(store.db, { subscriptionId: 'hook' }, 1)
      const outcome = { state: 'DELIVERED', attempts: 1, dueAt: 0, tries: [], at: at('12:00') } as const
      await store.write((tx) =>
        recordOutcome(tx, { subscriptionId: 'hook', position: first?.position ?? 0, ...outcome }),
      )
      await store.db.deleteFrom('subscription').where('id', '=', 'removed since').execute()
      await subscribe(store, 'made since')
      await take(store)
      await happens(store, 'since')
      await take(store)
      await happens(store, 'not placed')
    })
    await scene.run('restore', scene.at('backup.tar.gz'), '--replace')
    await withStore(scene.settings, async (store) => {
      await take(store)
      const found = await findDeliveries(store.db, {}, 100)
      const deliveries = found.map(({ subscriptionId, event, state }) => {
        const node = 'node' in event.data ? event.data.node : ''
        return `${subscriptionId}: ${node} ${state}`
      })
      assert.deepEqual(deliveries.sort(), [
        'hook: not placed PENDING',
        'hook: placed since PENDING',
        'hook: since PENDING',
        'hook: told since DELIVERED',
        'removed since: not placed PENDING',
        'removed since: told since PENDING',
      ])
      const events = await store.db
        .selectFrom('event')
        .select('body')
        .where('type', '=', 'node.stopped')
        .execute()
      assert.equal(events.length, 4)
    })
  },
)

testOnBoth(
  'whoever has read events that the restored database does not know misses none that come after',
  async (t, database) => {
    const scene = await setScene(t, database)
    const happens = async (store: Store, node: string) => {
      await store.write((tx) => addEvent(tx, { type: 'node.stopped', at: at('12:00'), data: { node } }))
      await takeEvents(store, ZONE, at('12:00'))
    }
    const newest = async (store: Store) => (await findEvents(store.db, {}, NEWEST))[0]
    await withStore(scene.settings, (store) => happens(store, 'known'))
    await scene.run('backup', scene.at('backup.tar.gz'))
    const read = await withStore(scene.settings, async (store) => {
      for (const node of ['lost', 'lost too']) await happens(store, node)
      return (await newest(store))?.id ?? ''
    })
    await scene.lose('database')
    await scene.run('restore', scene.at('backup.tar.gz'), '--replace')
    await withStore(scene.settings, async (store) => {
      for (const node of ['one', 'two', 'three', 'four']) await happens(store, node)
      const place = await placeAfter(store.db, read)
      assert.equal(place, positionOf(read))
      const found = await eventsAfter(store.db, place, 100)
      assert.deepEqual(
        found.map(({ data }) => 'node' in data && data.node),
        ['one', 'two', 'three', 'four'],
      )
      // A reader is told that there is a gap.
      assert.ok((found[0]?.position ?? 0) > place + 1)
    })
  },
)
