// Windows of expectations over every change of clocks, against a model that walks the wall clock minute by minute. The
// model asks Intl by itself and knows nothing of ours.

import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { test } from 'node:test'
import type { Expectation } from '../../contract/calendar.ts'
import { planOf } from './windows.ts'
import { calendarsOf } from './working-days.ts'
import { addDays } from './days.ts'

const ZONES = [
  'Europe/Madrid',
  'America/New_York',
  'Atlantic/Azores', // midnight comes twice
  'America/Santiago', // midnight is missing
  'Australia/Lord_Howe', // by half an hour
  'Pacific/Chatham', // at a quarter to three
  'Africa/Cairo', // from midnight
  'America/St_Johns', // half an hour off
  'Africa/Casablanca', // back in Ramadan
  'Asia/Beirut',
]
const [FIRST_YEAR, LAST_YEAR] = [2024, 2032]
const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Offset by the text that Intl shows, kept by quarters of an hour. */
function offsets(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  const known = new Map<number, number>()
  return (at) => {
    const quarter = Math.floor(at / (15 * MINUTE))
    let offset = known.get(quarter)
    if (offset === undefined) {
      const [, sign = '+', hours = '0', minutes = '0'] =
        /GMT([+-])(\d\d):(\d\d)$/.exec(format.format(quarter * 15 * MINUTE)) ?? []
      offset = (Number(hours) * 60 + Number(minutes)) * MINUTE * (sign === '-' ? -1 : 1)
      known.set(quarter, offset)
    }
    return offset
  }
}

function changesOf(offsetOf: (at: number) => number): number[] {
  const changes: number[] = []
  const end = Date.UTC(LAST_YEAR, 0, 1)
  for (let at = Date.UTC(FIRST_YEAR, 0, 1); at < end; at += 24 * HOUR) {
    if (offsetOf(at) === offsetOf(at + 24 * HOUR)) continue
    for (let quarter = at; quarter < at + 24 * HOUR; quarter += 15 * MINUTE)
      if (offsetOf(quarter) !== offsetOf(quarter + 15 * MINUTE)) changes.push(quarter + 15 * MINUTE)
  }
  return changes
}

/** The first minute that shows `local` or more, and the first after which none shows less. */
function walk(offsetOf: (at: number) => number, local: number): { first: number; last: number } {
  let first: number | undefined
  let last = 0
  for (let at = local - 27 * HOUR; at < local + 27 * HOUR; at += MINUTE) {
    const enough = at + offsetOf(at) >= local
    if (enough) first ??= at
    else last = at + MINUTE
  }
  return { first: first ?? assert.fail('no such minute'), last }
}

const clock = fc
  .integer({ min: 0, max: 24 * 60 - 1 })
  .map(
    (minute) => `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`,
  )
const localMs = (day: string, time: string) =>
  Date.parse(`${day}T${time.slice(0, 5)}:00Z`) + Number(time.split('+')[1] ?? 0) * 24 * HOUR

for (const zone of ZONES)
  test(`windows around every change of clocks are those that the wall clock shows: ${zone}`, (t) => {
    const offsetOf = offsets(zone)
    const changes = changesOf(offsetOf)
    assert.ok(changes.length >= 6, `${changes.length} changes`)
    t.diagnostic(`${changes.length} changes`)
    for (const change of changes) {
      const changeDay = new Date(change + offsetOf(change - 1)).toISOString().slice(0, 10)
      // Near the change itself, and anywhere.
      const near = fc
        .integer({ min: -90, max: 90 })
        .map((minutes) =>
          new Date(change + offsetOf(change - 1) + minutes * MINUTE).toISOString().slice(11, 16),
        )
      const time = fc.oneof(near, clock)
      const window = fc.tuple(fc.integer({ min: -1, max: 1 }), time, time, fc.integer({ min: 0, max: 1 }))
      fc.assert(
        fc.property(window, ([shift, from, end, days]) => {
          const day = addDays(changeDay, shift)
          const by = days === 0 ? end : `${end}+${days}`
          if (localMs(day, by) < localMs(day, from)) return
          const expectation: Expectation = {
            id: 'x',
            channel: 'A-B-C',
            direction: 'EMISION',
            from,
            by,
            timezone: zone,
          }
          const { opensAt, closesAt } = planOf(expectation, calendarsOf([]), 'UTC').window(day)
          const opens = walk(offsetOf, localMs(day, from)).first
          const closes = walk(offsetOf, localMs(day, by)).last
          assert.deepEqual([opensAt, closesAt], [opens, Math.max(opens, closes)])
        }),
        { numRuns: 12 },
      )
    }
  })

test('a window over the end of a month and of a year is as long as the wall clock says', () => {
  const plan = planOf(
    { id: 'x', channel: 'A-B-C', direction: 'EMISION', from: '22:00', by: '02:00+1', warnBefore: '30m' },
    calendarsOf([]),
    'Europe/Madrid',
  )
  const { opensAt, closesAt, warnsAt } = plan.window('2026-12-31')
  assert.deepEqual(
    [opensAt, warnsAt ?? 0, closesAt].map((at) => new Date(at).toISOString()),
    ['2026-12-31T21:00:00.000Z', '2027-01-01T00:30:00.000Z', '2027-01-01T01:00:00.000Z'],
  )
  assert.equal(plan.next('2028-02-29'), '2028-02-29')
  assert.equal(plan.window('2028-02-29').closesAt, Date.parse('2028-03-01T01:00:00Z'))
})

test('a day that a place has skipped has an empty window', () => {
  // Samoa went from 29 to 31 December 2011.
  const plan = planOf(
    { id: 'x', channel: 'A-B-C', direction: 'EMISION', from: '09:00', by: '17:00', timezone: 'Pacific/Apia' },
    calendarsOf([]),
    'UTC',
  )
  const { opensAt, closesAt } = plan.window('2011-12-30')
  assert.deepEqual(
    [opensAt, closesAt],
    [Date.parse('2011-12-30T10:00:00Z'), Date.parse('2011-12-30T10:00:00Z')],
  )
  assert.equal(plan.window('2011-12-31').closesAt - plan.window('2011-12-31').opensAt, 8 * HOUR)
})

test('the end of a day is midnight, however long the day was', () => {
  const expectation: Expectation = { id: 'x', channel: 'A-B-C', direction: 'RECEPCION', by: '24:00' }
  const plan = planOf(expectation, calendarsOf([]), 'Europe/Madrid')
  const hours = (day: string) => (plan.window(day).closesAt - plan.window(day).opensAt) / HOUR
  assert.deepEqual(['2026-03-29', '2026-06-01', '2026-10-25'].map(hours), [23, 24, 25])
})
