// The overview's panel of what is expected today, as operators see it in a real browser.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Expectation } from '../../src/contract/calendar.ts'
import { addDays as daysAfter } from '../../src/domain/calendar/days.ts'
import { planOf } from '../../src/domain/calendar/windows.ts'
import { calendarsOf } from '../../src/domain/calendar/working-days.ts'
import { afterFile, plannedDay } from '../../src/domain/expectation-day.ts'
import type { ExpectationDay } from '../../src/domain/expectation-day.ts'
import type { Store } from '../../src/store/database/store.ts'
import { acknowledgeDay, addDays } from '../../src/store/expectations/expectation-days.ts'
import { putExpectations } from '../../src/store/expectations/expectations.ts'
import { axeViolations, setScene, signIn, whyNot } from './browser.ts'
import { PAYROLL } from './platform.ts'

const skip = whyNot() ?? false
const NIGHTLY = 'BANCO-ACME-FACTURA'
const HIDDEN = 'BANCO-PUERTO-MANIFIESTO'

/** Today and tomorrow, as they were decided: neither the clock nor midnight changes what the browser sees. */
async function expect({ write }: Store): Promise<void> {
  const now = Date.now()
  const all: Expectation[] = [
    { id: 'salaries', channel: PAYROLL, direction: 'EMISION', files: 'NOMINA*.txt', atLeast: 2, by: '24:00' },
    { id: 'invoices', channel: NIGHTLY, direction: 'RECEPCION', by: '24:00' },
    { id: 'manifests', channel: HIDDEN, direction: 'RECEPCION', by: '24:00' },
  ]
  const days = all.flatMap((one) => {
    const plan = planOf(one, calendarsOf([]), 'UTC')
    const today = plan.today(now)
    return [today, daysAfter(today, 1)].map((date): ExpectationDay => {
      const window = plan.window(date)
      const day = plannedDay(one, window, window.closesAt, now)
      if (one.id !== 'salaries') return afterFile(day, window.opensAt, now).day
      return { ...day, state: 'missed', count: 1, nextAt: null }
    })
  })
  await write(async (tx) => {
    await putExpectations(tx, all)
    await addDays(tx, days)
    for (const { expectationId, day } of days.filter((one) => one.state === 'missed'))
      await acknowledgeDay(
        tx,
        { expectationId, day },
        { username: 'pablo', comment: 'they were called', now },
      )
  })
}

test('the overview shows what is expected today, what was missed first', { skip }, async (t) => {
  const scene = await setScene(t)
  await expect(scene.node.context.store)
  const page = await scene.open()
  await signIn(page, 'marta')
  const list = page.getByRole('list', { name: 'Expected today' })
  await list.waitFor()
  const rows = list.getByRole('listitem')
  const texts = await rows.allInnerTexts()
  assert.equal(texts.length, 3)
  assert.match(texts[0] ?? '', /BANCO-ACME-NOMINA/)
  assert.match(texts[0] ?? '', /salaries/)
  assert.match(texts[0] ?? '', /NOMINA\*\.txt/)
  assert.match(texts[0] ?? '', /Missed/i)
  assert.match(texts[0] ?? '', /1 of 2/)
  assert.match(texts[0] ?? '', /pablo/)
  assert.match(texts[0] ?? '', /they were called/)
  assert.deepEqual(await axeViolations(page), [])
  await rows.first().getByRole('link', { name: PAYROLL }).click()
  await page.getByRole('heading', { level: 1, name: new RegExp(PAYROLL) }).waitFor()
  await page.context().close()

  const other = await scene.open()
  await signIn(other, 'pablo')
  const spanish = other.getByRole('list', { name: 'Previsto para hoy' })
  await spanish.waitFor()
  const seen = await spanish.getByRole('listitem').allInnerTexts()
  assert.equal(seen.length, 2, 'the channel that is open to Marta alone is not among them')
  assert.match(seen.join('\n'), /Incumplida/)
  assert.deepEqual(scene.faults, [])
})
