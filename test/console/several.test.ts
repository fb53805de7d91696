// Several failed transfers chosen, and retried or reset together, in a real browser.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { en } from '../../console/src/i18n/en.ts'
import { es } from '../../console/src/i18n/es.ts'
import { pressIn } from './admin-forms.ts'
import {
  axeViolations,
  endSessionsOf,
  failBroken,
  go,
  mendBroken,
  requireFits,
  sharedScene,
  whyNot,
} from './browser.ts'
import { BROKEN, leave, PASSWORD, PAYROLL } from './platform.ts'

const skip = whyNot() ?? false
const scene = sharedScene()
const INVOICES = 'BANCO-ACME-FACTURA'
const MINUTE_MS = 60_000

/** The newest one of the channel that can be chosen, and those after it. */
const boxes = (page: Page, code: string) => page.getByRole('checkbox', { name: `Choose ${code}` })

test(
  'chosen failures are retried together; each that cannot be says why and stays chosen, to be reset',
  { skip },
  async () => {
    const { as, node, faults } = scene()
    // A real failure, whose reason then goes away.
    const client = await failBroken(node)
    await mendBroken(node)
    const page = await as('marta')
    await go(page, '/failures')
    await boxes(page, BROKEN).press('Space')
    await boxes(page, PAYROLL).nth(0).press('Space')
    await boxes(page, PAYROLL).nth(1).press('Space')
    await boxes(page, INVOICES).nth(0).press('Space')
    await page.getByText('4 chosen', { exact: true }).waitFor()
    assert.deepEqual(await axeViolations(page), [])
    await page.getByRole('button', { name: 'Retry the chosen' }).press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: 'Retry 4 failed transfers?' }).waitFor()
    assert.deepEqual(await axeViolations(page), [])
    // A colleague has dealt with one of them meanwhile.
    await client.resetChannel({ channelCode: INVOICES })
    await pressIn(dialog, 'Retry')
    const told = dialog.getByText('1 retry has started. 3 were not done.')
    await told.waitFor()
    assert.ok(await told.evaluate((element) => element === document.activeElement))
    const results = dialog.getByRole('listitem')
    await results.filter({ hasText: BROKEN }).getByText(en.channel.retried).waitFor()
    await results.filter({ hasText: INVOICES }).getByText(en.several.impossible.HANDLED).waitFor()
    await results.filter({ hasText: PAYROLL }).getByText('is gone: it cannot be retried').waitFor()
    await results.filter({ hasText: PAYROLL }).getByText(en.several.impossible.SUPERSEDED).waitFor()
    assert.deepEqual(await axeViolations(page), [])
    await requireFits(page, 390)
    await requireFits(page, 1280)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('2 chosen', { exact: true }).waitFor()
    const reset = page.getByRole('button', { name: 'Reset the chosen' })
    await reset.press('Enter')
    await dialog.getByRole('heading', { name: 'Reset 1 channel?' }).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    assert.ok(await reset.evaluate((element) => element === document.activeElement))
    await reset.press('Enter')
    await pressIn(dialog, 'Reset')
    await dialog.getByText('2 failures were reset.').waitFor()
    await pressIn(dialog, 'Close')
    await dialog.waitFor({ state: 'detached' })
    const none = page.getByText('0 chosen', { exact: true })
    await none.waitFor()
    assert.ok(await none.evaluate((element) => element === document.activeElement))
    await boxes(page, PAYROLL).first().waitFor({ state: 'detached' })
    assert.deepEqual(faults, [])
  },
)

test(
  'all that match are chosen from every page; an answer that is lost stops the rest, and another filter ends the choice',
  { skip },
  async () => {
    const { as, node, faults } = scene()
    await node.store.write(async (tx) => {
      for (let nth = 1; nth <= 30; nth++)
        await leave(tx, node.files, INVOICES, 'FAILED', Date.now() - nth * MINUTE_MS, `tanda-${nth}.txt`)
    })
    const page = await as('pablo')
    await go(page, '/failures?search=tanda')
    await page.getByText('30 fallos', { exact: true }).waitFor()
    await page.getByRole('checkbox', { name: es.several.page }).press('Space')
    await page.getByText('25 elegidas', { exact: true }).waitFor()
    await page.getByRole('button', { name: es.several.all }).press('Enter')
    await page.getByText('30 elegidas', { exact: true }).waitFor()
    await page.getByRole('button', { name: /^Página 2/ }).press('Enter')
    await page.locator('.failure').nth(5).waitFor({ state: 'detached' })
    assert.equal(await page.locator('.failure input:checked').count(), 5)
    await page.route('**/transfers/retry', (route) => route.abort('connectionreset'))
    await page.getByRole('button', { name: es.several.button.retry }).press('Enter')
    const dialog = page.getByRole('dialog')
    await pressIn(dialog, es.channel.retry)
    await dialog.getByText('Han empezado 0 reintentos. 30 no se han hecho.').waitFor()
    await dialog.getByText(es.app.mayBeDone).waitFor()
    assert.equal(await dialog.getByText(es.several.untried).count(), 29)
    assert.deepEqual(await axeViolations(page), [])
    await page.keyboard.press('Escape')
    await page.getByText('30 elegidas', { exact: true }).waitFor()
    await page.unroute('**/transfers/retry')
    // The session has ended: nothing was tried, and the same user goes on with what is chosen.
    await page.getByRole('button', { name: es.several.button.retry }).press('Enter')
    await endSessionsOf(node, 'pablo')
    await pressIn(dialog, es.channel.retry)
    await page.locator('.sign-in').waitFor()
    await page.locator('input[name=password]').fill(PASSWORD)
    await page.locator('.sign-in button[type=submit]').press('Enter')
    await dialog.getByText(es.several.untried).nth(29).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('30 elegidas', { exact: true }).waitFor()
    await page.getByRole('searchbox').fill('tanda-7')
    await page.getByText('0 elegidas', { exact: true }).waitFor()
    assert.equal(await page.locator('.failure input:checked').count(), 0)
    assert.deepEqual(faults, [])
  },
)
