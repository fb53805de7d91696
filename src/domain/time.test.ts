import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { isOpenAt, nextDay, nextOpening, showExpiry, showTime, stamp, startOfDay, zoneOf } from './time.ts'

const utc = zoneOf('UTC')
const madrid = zoneOf('Europe/Madrid')
const kathmandu = zoneOf('Asia/Kathmandu')
const newYork = zoneOf('America/New_York')

test('a time is shown with the offset of its zone, and UTC as Z', () => {
  const summer = Date.UTC(2026, 6, 1, 12, 30, 15, 7)
  assert.equal(showTime(summer, utc), '2026-07-01T12:30:15.007Z')
  assert.equal(showTime(summer, madrid), '2026-07-01T14:30:15.007+02:00')
  assert.equal(showTime(summer, kathmandu), '2026-07-01T18:15:15.007+05:45')
  assert.equal(showTime(summer, newYork), '2026-07-01T08:30:15.007-04:00')
})

test('the offset changes at the very second at which clocks change', () => {
  const leap = Date.UTC(2026, 2, 29, 1)
  assert.equal(showTime(leap - 1, madrid), '2026-03-29T01:59:59.999+01:00')
  assert.equal(showTime(leap, madrid), '2026-03-29T03:00:00.000+02:00')
})

test('whatever is shown reads back as the same instant', () => {
  const instants = fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2090, 0) })
  const zones = fc.constantFrom(
    utc,
    madrid,
    kathmandu,
    newYork,
    zoneOf('Australia/Lord_Howe'),
    zoneOf('Pacific/Apia'),
  )
  fc.assert(fc.property(instants, zones, (at, zone) => assert.equal(Date.parse(showTime(at, zone)), at)))
})

test('an expiry is shown as day, month, year and time of the zone', () => {
  assert.equal(showExpiry(Date.UTC(2026, 11, 31, 23, 30, 5), utc), '31-12-2026 23:30:05')
  assert.equal(showExpiry(Date.UTC(2026, 11, 31, 23, 30, 5), madrid), '01-01-2027 00:30:05')
})

test('a day begins at local midnight, and days that change clocks have 23 or 25 hours', () => {
  const hours = (day: string) =>
    ((startOfDay(nextDay(day), madrid) ?? 0) - (startOfDay(day, madrid) ?? 0)) / 3_600_000
  assert.equal(startOfDay('2026-07-01', madrid), Date.UTC(2026, 5, 30, 22))
  assert.equal(startOfDay('2026-07-01', kathmandu), Date.UTC(2026, 5, 30, 18, 15))
  assert.equal(hours('2026-07-01'), 24)
  assert.equal(hours('2026-03-29'), 23)
  assert.equal(hours('2026-10-25'), 25)
})

test('where clocks leap over midnight the day begins at the leap', () => {
  // Havana goes from 23:59:59 to 01:00:00 on the second Sunday of March.
  const havana = zoneOf('America/Havana')
  const start = startOfDay('2026-03-08', havana) ?? 0
  assert.equal(showTime(start, havana), '2026-03-08T01:00:00.000-04:00')
  assert.equal(showTime(start - 1, havana), '2026-03-07T23:59:59.999-05:00')
})

test('days follow each other without a gap in any zone', () => {
  const zones = [
    'UTC',
    'Europe/Madrid',
    'Asia/Kathmandu',
    'America/Havana',
    'Australia/Lord_Howe',
    'Asia/Beirut',
  ].map(zoneOf)
  const days = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2060, 0) })
  fc.assert(
    fc.property(days, fc.constantFrom(...zones), (at, zone) => {
      const day = showTime(at, zone).slice(0, 10)
      const from = startOfDay(day, zone) ?? Number.NaN
      const to = startOfDay(nextDay(day), zone) ?? Number.NaN
      assert.ok(from <= at && at < to, `${day} in ${zone.name}`)
    }),
  )
})

test('what is not a real date has no beginning', () => {
  for (const day of [
    '2026-02-30',
    '2026-13-01',
    '2026-1-1',
    '01-01-2026',
    '2026-02-29',
    '',
    '2026-01-01T00:00',
  ])
    assert.equal(startOfDay(day, utc), undefined, day)
  assert.equal(startOfDay('2028-02-29', utc), Date.UTC(2028, 1, 29))
})

const at = (hour: number, minute = 0) => Date.UTC(2026, 0, 15, hour, minute)

test('hours are a window of local time that may pass midnight', () => {
  const day = { initialHour: '08:00', finishHour: '18:00' }
  assert.deepEqual(
    [at(7, 59), at(8), at(17, 59), at(18)].map((time) => isOpenAt(day, time, utc)),
    [false, true, true, false],
  )
  assert.equal(isOpenAt(day, at(7, 30), madrid), true)
  const night = { initialHour: '22:00', finishHour: '06:00' }
  assert.deepEqual(
    [at(21, 59), at(22), at(3), at(6)].map((time) => isOpenAt(night, time, utc)),
    [false, true, true, false],
  )
  assert.equal(isOpenAt({}, at(3), utc), true)
  assert.equal(isOpenAt({ initialHour: '08:00', finishHour: '08:00' }, at(3), utc), true)
  assert.equal(isOpenAt({ initialHour: '08:00' }, at(7), utc), false)
  assert.equal(isOpenAt({ finishHour: '08:00' }, at(7), utc), true)
})

const hourOf = (value: number) =>
  `${String(Math.floor(value / 60)).padStart(2, '0')}:${String(value % 60).padStart(2, '0')}`

test('the next opening is open, not before now, and nothing before it is open', () => {
  const minute = fc.integer({ min: 0, max: 1439 })
  const instants = fc.integer({ min: Date.UTC(2026, 2, 25), max: Date.UTC(2026, 3, 5) })
  fc.assert(
    fc.property(minute, minute, instants, fc.constantFrom(utc, madrid, kathmandu), (from, to, now, zone) => {
      const hours = { initialHour: hourOf(from), finishHour: hourOf(to) }
      const opening = nextOpening(hours, now, zone)
      assert.ok(opening >= now && opening - now <= 2 * 86_400_000)
      if (opening > now) assert.equal(isOpenAt(hours, now, zone), false)
    }),
  )
  assert.equal(
    nextOpening({ initialHour: '08:00', finishHour: '18:00' }, Date.UTC(2026, 0, 15, 19), madrid),
    Date.UTC(2026, 0, 16, 7),
  )
})

test('where clocks change, hours open when the wall clock shows them: at the leap, not at all, or once more', () => {
  const opening = (initialHour: string, finishHour: string, now: string) =>
    new Date(nextOpening({ initialHour, finishHour }, Date.parse(now), madrid)).toISOString()
  // On 28 March 2027 clocks leap from 02:00 to 03:00, at 01:00 UTC.
  assert.equal(opening('02:15', '04:00', '2027-03-28T00:30Z'), '2027-03-28T01:00:00.000Z')
  assert.equal(opening('02:15', '02:45', '2027-03-28T00:30Z'), '2027-03-29T00:15:00.000Z')
  // On 25 October 2026 the hour from 02:00 comes twice, from 00:00 and from 01:00 UTC.
  assert.equal(opening('02:30', '03:00', '2026-10-25T01:10Z'), '2026-10-25T01:30:00.000Z')
})

test('a stamp has as many digits of local time as asked', () => {
  const night = Date.UTC(2026, 0, 15, 23, 1, 2, 3)
  assert.equal(stamp(night, madrid, 8), '20260116')
  assert.equal(stamp(night, madrid, 14), '20260116000102')
  assert.equal(stamp(night, madrid, 17), '20260116000102003')
})

test('hours that follow a calendar are open on its working days alone, the night belonging to the day it began on', () => {
  const madrid = zoneOf('Europe/Madrid')
  // Friday 1 May 2026 is closed.
  const works = (day: string) => day !== '2026-05-01'
  const at = (text: string) => Date.parse(`${text}+02:00`)
  const day = { initialHour: '08:00', finishHour: '18:00', works }
  assert.equal(isOpenAt(day, at('2026-04-30T12:00'), madrid), true)
  assert.equal(isOpenAt(day, at('2026-05-01T12:00'), madrid), false)
  assert.equal(nextOpening(day, at('2026-04-30T19:00'), madrid), at('2026-05-02T08:00'))
  const night = { initialHour: '22:00', finishHour: '06:00', works }
  assert.equal(isOpenAt(night, at('2026-05-01T02:00'), madrid), true)
  assert.equal(isOpenAt(night, at('2026-05-01T23:00'), madrid), false)
  assert.equal(isOpenAt(night, at('2026-05-02T02:00'), madrid), false)
  assert.equal(nextOpening(night, at('2026-05-01T12:00'), madrid), at('2026-05-02T22:00'))
  assert.equal(isOpenAt({ works }, at('2026-05-01T12:00'), madrid), false)
  assert.equal(nextOpening({ works }, at('2026-05-01T12:00'), madrid), at('2026-05-02T00:00'))
})
