import assert from 'node:assert/strict'
import Holidays from 'date-holidays'
import { test } from 'node:test'
import { cronTurnsByDay, nextCronTurn } from './cron-turns.ts'
import type { CronPlan } from './cron-turns.ts'
import { addDays, easterOf, isDay, weekdayOf } from './days.ts'
import type { Day } from './days.ts'
import { daysMovedTo, nextDayOf } from './moved-days.ts'
import { calendarsOf, unknownPlace, workingDaysOf } from './working-days.ts'
import { planOf, windowsOfYear } from './windows.ts'

const { weekdays, target } = builtIn()

function builtIn() {
  const calendars = calendarsOf([])
  const named = (id: string) => calendars(id) ?? assert.fail(id)
  return { weekdays: named('weekdays'), target: named('target') }
}

function daysOf(year: number): Day[] {
  const days: Day[] = []
  for (let day = `${year}-01-01`; day.startsWith(String(year)); day = addDays(day, 1)) days.push(day)
  return days
}

/** Closing days beside weekends, typed from the rule: the weekday of each tells which of them a weekend hides. */
const TARGET_CLOSED: Record<number, string[]> = {
  2024: ['01-01', '03-29', '04-01', '05-01', '12-25', '12-26'],
  2025: ['01-01', '04-18', '04-21', '05-01', '12-25', '12-26'],
  2026: ['01-01', '04-03', '04-06', '05-01', '12-25'],
  2027: ['01-01', '03-26', '03-29'],
  2028: ['04-14', '04-17', '05-01', '12-25', '12-26'],
  2029: ['01-01', '03-30', '04-02', '05-01', '12-25', '12-26'],
  2030: ['01-01', '04-19', '04-22', '05-01', '12-25', '12-26'],
}

test('TARGET is closed on weekends and on six days of the year, 2024 to 2030', () => {
  for (const [year, closed] of Object.entries(TARGET_CLOSED)) {
    const found = daysOf(Number(year)).filter((day) => weekdays(day) && !target(day))
    assert.deepEqual(
      found,
      closed.map((date) => `${year}-${date}`),
    )
  }
})

test('the days of TARGET that a country shares are the same in the holidays’ data', () => {
  // Germany has all six as holidays of the whole country.
  const germany = new Holidays('DE')
  for (let year = 2024; year <= 2030; year++) {
    const known = germany
      .getHolidays(year)
      .filter(({ type }) => type === 'public')
      .map(({ date }) => date.slice(0, 10))
    const closed = daysOf(year).filter((day) => weekdays(day) && !target(day))
    assert.deepEqual(
      closed.filter((day) => !known.includes(day)),
      [],
    )
    const easter = germany.getHolidays(year).find(({ rule }) => rule === 'easter')
    assert.equal(easter?.date.slice(0, 10), easterOf(year))
  }
})

test('a country’s calendar has its holidays and its weekend, with days added and taken away', () => {
  const madrid = workingDaysOf({
    holidays: { country: 'ES', region: 'MD' },
    closed: ['2026-12-24'],
    open: ['2026-12-26', '2026-05-01'],
  })
  const closed = [
    '2026-01-06',
    '2026-04-02',
    '2026-04-03',
    '2026-05-02',
    '2026-10-12',
    '2026-12-24',
    '2026-12-27',
  ]
  assert.deepEqual(
    closed.map(madrid),
    closed.map(() => false),
  )
  // 26 December is a Saturday; Easter Monday is a working day in Madrid.
  const open = ['2026-12-26', '2026-05-01', '2026-04-06', '2026-12-23']
  assert.deepEqual(
    open.map(madrid),
    open.map(() => true),
  )
  const riyadh = workingDaysOf({ holidays: { country: 'SA' } })
  assert.deepEqual(['2026-05-01', '2026-05-02', '2026-05-03'].map(riyadh), [false, false, true])
  // In Austria banks close at 14:00 on 24 December: a working day.
  assert.equal(workingDaysOf({ holidays: { country: 'AT' } })('2026-12-24'), true)
})

test('a country or region that is not known is named', () => {
  assert.equal(unknownPlace({ country: 'ES', region: 'MD' }), undefined)
  assert.equal(unknownPlace({ country: 'DE', region: 'BY.A' }), undefined)
  assert.match(unknownPlace({ country: 'XX' }) ?? '', /country XX/)
  assert.match(unknownPlace({ country: 'ES', region: 'ZZ' }) ?? '', /no region ZZ; it has AN, /)
  assert.match(unknownPlace({ country: 'DE', region: 'BY.Q' }) ?? '', /no region BY.Q/)
})

test('a year so far ahead that a country’s own calendar is not known for it has weekends alone', () => {
  const iran = workingDaysOf({ holidays: { country: 'IR' } })
  const [open, closed] = ['9998-06-01', '9998-06-05']
  assert.deepEqual([weekdayOf(open), weekdayOf(closed)], [1, 5])
  assert.deepEqual([iran(open), iran(closed)], [true, false])
})

test('a day that is no working day is left out, or moved to the nearest one before or after', () => {
  // Good Friday to Easter Monday 2026.
  const planned = (day: Day) => day.endsWith('-04')
  const to = (day: Day, onHoliday: 'skip' | 'previous' | 'next') =>
    daysMovedTo(day, { planned, works: target, onHoliday })
  assert.deepEqual(to('2026-04-02', 'previous'), ['2026-04-04'])
  assert.deepEqual(to('2026-04-07', 'next'), ['2026-04-04'])
  assert.deepEqual(to('2026-04-07', 'skip'), [])
  assert.equal(nextDayOf('2026-04-01', { planned, works: target, onHoliday: 'next' }), '2026-04-07')
  assert.equal(nextDayOf('2026-04-01', { planned, works: target, onHoliday: 'skip' }), '2026-05-04')
  assert.equal(nextDayOf('2026-04-01', { planned, works: () => false, onHoliday: 'next' }), undefined)
})

test('every planned day lies on exactly one working day, the nearest on its side', () => {
  for (const [onHoliday, step] of [
    ['previous', -1],
    ['next', 1],
  ] as const)
    for (const day of daysOf(2027)) {
      let nearest = day
      while (!target(nearest)) nearest = addDays(nearest, step)
      const plan = { planned: (one: Day) => one === day, works: target, onHoliday }
      const around = Array.from({ length: 15 }, (_, nth) => addDays(day, nth - 7))
      assert.deepEqual(
        around.filter((one) => daysMovedTo(one, plan).length > 0),
        [nearest],
        `${day} ${onHoliday}`,
      )
    }
})

test('weekdays, dates and the last of the month', () => {
  const days = (expected: (string | number)[], more: object = {}) => {
    const expectation = {
      id: 'x',
      channel: 'A-B-C',
      direction: 'EMISION',
      by: '22:00',
      days: expected,
    } as const
    const plan = planOf({ ...expectation, ...more }, calendarsOf([]), 'UTC')
    return windowsOfYear(plan, 2027).map(({ day }) => day.slice(5))
  }
  assert.equal(days(['mon']).length, 52)
  assert.ok(days(['mon', 'thu']).every((day) => [1, 4].includes(weekdayOf(`2027-${day}`))))
  assert.deepEqual(days([31]).length, 7)
  assert.deepEqual(days(['last']).slice(0, 3), ['01-31', '02-28', '03-31'])
  // 31 January 2027 is a Sunday, 28 February too.
  assert.deepEqual(days(['last'], { calendar: 'target', onHoliday: 'previous' }).slice(0, 3), [
    '01-29',
    '02-26',
    '03-31',
  ])
  // The last of the year moves into the next one: 2028 begins on a Saturday.
  assert.deepEqual(days([1], { calendar: 'target', onHoliday: 'next' }).slice(0, 2), ['01-04', '02-01'])
})

function cronTurnsOn(plan: CronPlan, day: Day): number[] {
  return [...cronTurnsByDay(plan, { from: day, to: day, most: 10_000 })].flat()
}

test('a cron expression with a calendar keeps the time of day and moves the day', () => {
  const works = target
  const plan = (cron: string, onHoliday: 'skip' | 'previous' | 'next') => ({
    cron,
    timezone: 'Europe/Madrid',
    working: { works, onHoliday },
  })
  const shown = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString())
  const before = Date.parse('2026-04-02T00:00:00Z')
  // 06:30 on the 4th, the Saturday before Easter.
  assert.equal(shown(nextCronTurn(plan('30 6 4 * *', 'previous'), before)), '2026-04-02T04:30:00.000Z')
  assert.equal(shown(nextCronTurn(plan('30 6 4 * *', 'next'), before)), '2026-04-07T04:30:00.000Z')
  assert.equal(shown(nextCronTurn(plan('30 6 4 * *', 'skip'), before)), '2026-05-04T04:30:00.000Z')
  // Daily: the moved turns of a long weekend are one with the day's own.
  assert.deepEqual(cronTurnsOn(plan('0 6 * * *', 'previous'), '2026-04-02').map(shown), [
    '2026-04-02T04:00:00.000Z',
  ])
  assert.deepEqual(cronTurnsOn(plan('0 6 * * *', 'previous'), '2026-04-03'), [])
  assert.equal(
    nextCronTurn({ ...plan('0 6 * * *', 'skip'), working: undefined }, before),
    Date.parse('2026-04-02T04:00:00Z'),
  )
  assert.equal(
    nextCronTurn(
      { ...plan('0 6 * * *', 'skip'), working: { works: () => false, onHoliday: 'next' } },
      before,
    ),
    undefined,
  )
})

test('the first turn of many is found without the others, and what is never due is found to be so at once', (t) => {
  const after = Date.parse('2026-04-02T21:30:00Z')
  for (const onHoliday of ['skip', 'previous', 'next'] as const) {
    const working = { works: target, onHoliday }
    const asked = (cron: string, count: number) => {
      const plan = { cron, timezone: 'Europe/Madrid', working }
      const begun = process.threadCpuUsage()
      let at: number | undefined = after
      for (let nth = 0; at !== undefined && nth < count; nth++) at = nextCronTurn(plan, at)
      const { user, system } = process.threadCpuUsage(begun)
      const took = (user + system) / 1000
      t.diagnostic(`${cron} ${onHoliday}: ${took.toFixed(0)} ms`)
      assert.ok(took < 2000, `${took} ms`)
      return at
    }
    // Older databases may hold one by the second.
    assert.equal(asked('* * * * * *', 20), after + 20_000)
    assert.equal(asked('0 0 30 2 *', 1), undefined)
  }
})

test('on days on which clocks change a cron expression is due as croner says, also after holidays', () => {
  const works = (day: Day) => !['2026-03-29', '2026-10-25'].includes(day)
  const shown = (onHoliday: 'skip' | 'next' | undefined, day: Day) =>
    cronTurnsOn(
      { cron: '30 1-3 * * *', timezone: 'Europe/Madrid', working: onHoliday && { works, onHoliday } },
      day,
    ).map((at) => new Date(at).toISOString().slice(8, 16))
  assert.deepEqual(shown(undefined, '2026-03-28'), ['28T00:30', '28T01:30', '28T02:30'])
  assert.deepEqual(shown(undefined, '2026-03-29'), ['29T00:30', '29T01:30'])
  assert.deepEqual(shown(undefined, '2026-10-25'), ['24T23:30', '25T00:30', '25T01:30', '25T02:30'])
  assert.deepEqual(shown('skip', '2026-10-25'), [])
  assert.deepEqual(shown('next', '2026-10-26'), ['26T00:30', '26T01:30', '26T02:30'])
})

test('a date is one that exists', () => {
  assert.deepEqual(['2024-02-29', '2026-02-29', '2026-13-01', '2026-1-1', 'x'].map(isDay), [
    true,
    false,
    false,
    false,
    false,
  ])
})
