import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { test } from 'node:test'
import type { Expectation } from '../../src/contract/calendar.ts'
import type { EventType } from '../../src/contract/event-types.ts'
import { zoneOf } from '../../src/domain/time.ts'
import { takeEvents } from '../../src/notify/take-events.ts'
import { undoDaysAhead, watchExpectations } from '../../src/notify/expectations/watch.ts'
import { putContact, putLocalEntity } from '../../src/store/contacts.ts'
import type { Store } from '../../src/store/database/store.ts'
import { addEvent } from '../../src/store/events/outbox.ts'
import { putCalendar } from '../../src/store/expectations/calendars.ts'
import { findDay } from '../../src/store/expectations/expectation-days.ts'
import { planAnew, putExpectations } from '../../src/store/expectations/expectations.ts'
import { sqlite, testOnBoth, withStore } from '../support/harness.ts'
import { contactOf, seedChannel } from '../support/seed.ts'
import { seal } from './scene.ts'

const CODE = 'BANCO-ACME-NOMINA'
const ZONE = zoneOf('Europe/Madrid')
const BASE: Expectation = {
  id: 'payroll',
  channel: CODE,
  direction: 'EMISION',
  from: '18:00',
  by: '22:00',
  warnBefore: '30m',
}
const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Local time in Madrid in winter. */
const at = (time: string) => Date.parse(`${time}+01:00`)

async function platform(store: Store, ...expectations: Partial<Expectation>[]): Promise<void> {
  await store.write(async (tx) => {
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', []))
    await seedChannel(tx, seal, CODE, 'acme', {})
    await putExpectations(
      tx,
      expectations.map((one) => ({ ...BASE, ...one })),
    )
  })
}

async function tick(store: Store, now: number): Promise<void> {
  await takeEvents(store, ZONE, now)
  await watchExpectations(store, ZONE, now)
  await takeEvents(store, ZONE, now)
}

async function file(
  store: Store,
  now: number,
  fileName = 'NOMINA1.txt',
  type: 'file.sent' | 'file.received' = 'file.sent',
) {
  await store.write((tx) =>
    addEvent(tx, { type, at: now, channelCode: CODE, data: { transferId: 't', fileName } }),
  )
}

type Told = { type: EventType; day: string; at: number; count: number; id: string }

async function told(store: Store): Promise<Told[]> {
  const rows = await store.db
    .selectFrom('event')
    .selectAll()
    .where('type', 'like', 'expectation.%')
    .orderBy('position')
    .execute()
  return rows.map((row) => {
    const data = JSON.parse(row.body) as { day: string; count: number; expectation: string }
    return { type: row.type as EventType, at: row.at, day: data.day, count: data.count, id: data.expectation }
  })
}

const short = (all: Told[]) => all.map(({ type, day }) => `${day} ${type.slice('expectation.'.length)}`)

testOnBoth('a day is warned of, missed, and late when its file comes after all', async (t, database) => {
  const store = await withStore(t, database)
  await platform(store, {})
  await tick(store, at('2026-01-13T12:00'))
  const day = await findDay(store.db, 'payroll', '2026-01-13')
  assert.deepEqual(
    [day?.state, day?.opensAt, day?.closesAt],
    ['waiting', at('2026-01-13T18:00'), at('2026-01-13T22:00')],
  )
  await tick(store, at('2026-01-13T21:29'))
  assert.deepEqual(await told(store), [])
  await tick(store, at('2026-01-13T21:30'))
  assert.deepEqual(short(await told(store)), ['2026-01-13 warning'])
  await tick(store, at('2026-01-13T22:00:04'))
  assert.equal((await findDay(store.db, 'payroll', '2026-01-13'))?.state, 'warned')
  await tick(store, at('2026-01-13T22:00:05'))
  await tick(store, at('2026-01-13T22:30'))
  assert.deepEqual(short(await told(store)), ['2026-01-13 warning', '2026-01-13 missed'])
  await file(store, at('2026-01-14T03:00'))
  await tick(store, at('2026-01-14T03:00'))
  assert.deepEqual(short(await told(store)).slice(2), ['2026-01-13 late'])
  // In the next day's window it is the next day's.
  await file(store, at('2026-01-14T18:30'))
  await tick(store, at('2026-01-14T18:30'))
  assert.deepEqual(short(await told(store)).slice(3), ['2026-01-14 met'])
})

testOnBoth('only files that are meant count; more than there may be are told once', async (t, database) => {
  const store = await withStore(t, database)
  await platform(store, { files: 'NOMINA*.txt', atLeast: 2, atMost: 3 })
  await tick(store, at('2026-01-13T18:00'))
  await file(store, at('2026-01-13T17:59'), 'NOMINA0.txt')
  await file(store, at('2026-01-13T18:00'), 'NOMINA1.txt')
  await file(store, at('2026-01-13T18:01'), 'OTHER.txt')
  await file(store, at('2026-01-13T18:02'), 'NOMINA2.txt', 'file.received')
  await tick(store, at('2026-01-13T18:10'))
  assert.deepEqual(await told(store), [])
  await file(store, at('2026-01-13T18:11'), 'NOMINA2.txt')
  await tick(store, at('2026-01-13T18:11'))
  assert.deepEqual(short(await told(store)), ['2026-01-13 met'])
  for (const minute of [12, 13, 14]) await file(store, at(`2026-01-13T18:${minute}`), `NOMINA${minute}.txt`)
  await tick(store, at('2026-01-13T22:10'))
  assert.deepEqual(short(await told(store)), ['2026-01-13 met', '2026-01-13 excess'])
  assert.equal((await findDay(store.db, 'payroll', '2026-01-13'))?.count, 5)
})

testOnBoth(
  'a file that ended in time counts although its transaction came after the end',
  async (t, database) => {
    const store = await withStore(t, database)
    await platform(store, {})
    await tick(store, at('2026-01-13T12:00'))
    await file(store, at('2026-01-13T21:59:59'))
    await tick(store, at('2026-01-13T22:00:06'))
    assert.deepEqual(short(await told(store)), ['2026-01-13 met'])
    // One that ended after it is late, even if nobody had looked.
    await file(store, at('2026-01-14T22:00'))
    await tick(store, at('2026-01-14T22:00:06'))
    assert.deepEqual(short(await told(store)).slice(1), ['2026-01-14 missed', '2026-01-14 late'])
  },
)

testOnBoth('several nodes that look at the same moment decide each day once', async (t, database) => {
  const store = await withStore(t, database)
  const ids = Array.from({ length: 150 }, (_, nth) => `e${String(nth).padStart(3, '0')}`)
  await platform(store, ...ids.map((id) => ({ id })))
  for (const time of ['2026-01-13T12:00', '2026-01-13T21:40', '2026-01-13T22:05'])
    await Promise.all([tick, tick, tick].map((run) => run(store, at(time))))
  const all = (await told(store)).map(({ id, type }) => `${id} ${type}`).toSorted()
  assert.deepEqual(
    all,
    ids.flatMap((id) => [`${id} expectation.missed`, `${id} expectation.warning`]),
  )
})

testOnBoth(
  'after nights without a node every day that passed is decided, each once and in order',
  async (t, database) => {
    const store = await withStore(t, database)
    await platform(store, { calendar: 'target' })
    await tick(store, at('2026-01-13T12:00'))
    // From Tuesday to the Monday after; the weekend has no windows.
    await tick(store, at('2026-01-19T09:00'))
    await tick(store, at('2026-01-19T09:01'))
    assert.deepEqual(
      short(await told(store)),
      ['2026-01-13', '2026-01-14', '2026-01-15', '2026-01-16'].map((day) => `${day} missed`),
    )
    await file(store, at('2026-01-19T18:30'))
    await tick(store, at('2026-01-19T18:30'))
    assert.deepEqual(short(await told(store)).slice(4), ['2026-01-19 met'])
  },
)

test(
  'whatever the pauses between looks, the same days are met, missed and late',
  { timeout: 120_000 },
  async (t) => {
    const files = fc.array(fc.integer({ min: 0, max: 12 * 24 * 60 - 1 }), { minLength: 2, maxLength: 14 })
    const pauses = fc.array(fc.integer({ min: 1, max: 30 * 60 }), { minLength: 30, maxLength: 60 })
    const start = Date.parse('2026-03-24T00:00:00+01:00') // summer time begins on the 29th
    const end = start + 12 * 24 * HOUR
    const run = async (minutes: number[], steps: Iterable<number>) => {
      const store = await withStore(t, sqlite)
      await platform(store, { from: '22:00', by: '02:30+1', atLeast: 1, atMost: 1 })
      await tick(store, start)
      let last = start
      for (const now of steps) {
        for (const minute of minutes.toSorted((a, b) => a - b)) {
          const when = start + minute * MINUTE
          if (when > last && when <= now) await file(store, when)
        }
        await tick(store, now)
        last = now
      }
      return short(await told(store)).filter((line) => !line.endsWith('warning'))
    }
    await fc.assert(
      fc.asyncProperty(files, pauses, async (minutes, some) => {
        const steady = Array.from({ length: 12 * 48 }, (_, nth) => start + (nth + 1) * 30 * MINUTE)
        const jumps: number[] = []
        for (let now = start, nth = 0; now < end; nth++)
          jumps.push((now = Math.min(end, now + (some[nth % some.length] ?? 1) * MINUTE)))
        assert.deepEqual((await run(minutes, jumps)).toSorted(), (await run(minutes, steady)).toSorted())
      }),
      { numRuns: 4 },
    )
  },
)

test('windows over changes of clocks close when the wall clock says so', async (t) => {
  const store = await withStore(t, sqlite)
  await platform(store, { from: '01:00', by: '02:30' })
  await tick(store, Date.parse('2026-10-24T12:00:00Z'))
  // On 25 October 2026 half past two comes twice in Madrid: at 00:30 and at 01:30 UTC.
  await tick(store, Date.parse('2026-10-25T01:29:00Z'))
  assert.deepEqual(
    short(await told(store)).filter((line) => line.startsWith('2026-10-25')),
    ['2026-10-25 warning'],
  )
  await tick(store, Date.parse('2026-10-25T01:31:00Z'))
  assert.deepEqual(short(await told(store)).at(-1), '2026-10-25 missed')
})

testOnBoth(
  'what a clock that was ahead has decided is open again when it is set back, and the alarm comes in its time',
  async (t, database) => {
    const store = await withStore(t, database)
    await platform(store, {})
    await tick(store, at('2026-01-13T12:00'))
    await file(store, at('2026-01-13T18:30'))
    await tick(store, at('2026-01-13T18:30'))
    assert.deepEqual(short(await told(store)), ['2026-01-13 met'])
    await tick(store, at('2026-01-14T18:30'))
    await tick(store, at('2027-01-14T19:00'))
    const before = (await told(store)).length
    await undoDaysAhead(store, at('2026-01-14T19:00'))
    assert.equal((await findDay(store.db, 'payroll', '2026-01-13'))?.state, 'met')
    await tick(store, at('2026-01-14T19:01'))
    assert.equal(await findDay(store.db, 'payroll', '2027-01-14'), undefined)
    await tick(store, at('2026-01-14T22:01'))
    await tick(store, at('2026-01-15T12:00'))
    await file(store, at('2026-01-15T18:30'))
    await tick(store, at('2026-01-15T18:31'))
    assert.deepEqual(short(await told(store)).slice(before), ['2026-01-14 missed', '2026-01-15 met'])
  },
)

testOnBoth(
  'a new expectation counts what came since its window opened, and says nothing of the past',
  async (t, database) => {
    const store = await withStore(t, database)
    await platform(store)
    await file(store, at('2026-01-13T18:30'))
    await tick(store, at('2026-01-13T19:00'))
    await store.write((tx) => putExpectations(tx, [BASE]))
    await tick(store, at('2026-01-13T19:01'))
    assert.deepEqual(short(await told(store)), ['2026-01-13 met'])
    await store.write((tx) => putExpectations(tx, [{ ...BASE, id: 'other', by: '18:45' }]))
    await tick(store, at('2026-01-13T19:02'))
    assert.deepEqual((await told(store)).length, 1)
    assert.equal((await findDay(store.db, 'other', '2026-01-14'))?.state, 'waiting')
  },
)

testOnBoth('a changed expectation tells nothing more of a day that is decided', async (t, database) => {
  const store = await withStore(t, database)
  await platform(store, {})
  await tick(store, at('2026-01-13T12:00'))
  for (const minute of [30, 40]) {
    await file(store, at(`2026-01-13T18:${minute}`))
    await tick(store, at(`2026-01-13T18:${minute}`))
  }
  assert.deepEqual(short(await told(store)), ['2026-01-13 met'])
  for (const [nth, change] of [{ warnBefore: '15m' }, { atMost: 1 }].entries()) {
    await store.write((tx) => putExpectations(tx, [{ ...BASE, ...change }]))
    await tick(store, at(`2026-01-13T19:0${nth}`))
  }
  const day = await findDay(store.db, 'payroll', '2026-01-13')
  assert.deepEqual([day?.state, day?.count, day?.atMost], ['met', 2, null])
  assert.deepEqual(short(await told(store)), ['2026-01-13 met'])
  await file(store, at('2026-01-14T18:30'))
  await file(store, at('2026-01-14T18:31'))
  await tick(store, at('2026-01-14T18:32'))
  assert.deepEqual(short(await told(store)).slice(1), ['2026-01-14 met', '2026-01-14 excess'])
})

testOnBoth('a changed expectation or calendar plans anew what is not decided', async (t, database) => {
  const store = await withStore(t, database)
  await platform(store, { calendar: 'madrid' })
  await store.write((tx) => putCalendar(tx, { id: 'madrid' }))
  await tick(store, at('2026-01-13T22:01'))
  await store.write(async (tx) => {
    await putCalendar(tx, { id: 'madrid', closed: ['2026-01-14'] })
    await planAnew(tx, ['payroll'])
  })
  await tick(store, at('2026-01-13T22:02'))
  assert.equal(await findDay(store.db, 'payroll', '2026-01-14'), undefined)
  assert.equal((await findDay(store.db, 'payroll', '2026-01-15'))?.state, 'waiting')
  await store.write((tx) => putExpectations(tx, [{ ...BASE, by: '21:00' }]))
  await tick(store, at('2026-01-14T12:00'))
  const day = await findDay(store.db, 'payroll', '2026-01-14')
  assert.equal(day?.closesAt, at('2026-01-14T21:00'))
})
