// Transfers of all channels, and the search of failures, in a real browser.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { axeViolations, go, requireFits, sharedScene, whyNot } from './browser.ts'
import { BROKEN, leave, PAYROLL } from './platform.ts'

const skip = whyNot() ?? false
const scene = sharedScene()
const LONG = `${'a-very-long-name-'.repeat(7)}.txt`

test(
  'transfers of all channels are found, filtered in the address, paged and taken out as CSV',
  { skip },
  async () => {
    const { as, node, faults } = scene()
    const id = await node.store.write((tx) => leave(tx, node.files, BROKEN, 'COMPLETED', Date.now() - 1000))
    await node.store.db
      .updateTable('transfer_file')
      .set({ name: LONG, name_key: Buffer.from(LONG) })
      .where('transfer_id', '=', id)
      .execute()
    const page = await as('marta')
    await page.getByRole('link', { name: 'Transfers', exact: true }).click()
    const rows = page.locator('tbody tr')
    await rows.nth(24).waitFor()
    assert.deepEqual(await axeViolations(page), [])
    await page.getByRole('button', { name: /^Page 3 of/ }).press('Enter')
    await page
      .getByRole('button', { name: /^Page 3 of/ })
      .and(page.locator('[aria-current=page]'))
      .waitFor()
    assert.match(page.url(), /page=3/)
    await page.getByRole('searchbox', { name: 'File name' }).fill('a-very-long*')
    await page.getByText('1 transfer', { exact: true }).waitFor()
    const link = rows.getByRole('link', { name: LONG })
    await link.waitFor()
    for (const width of [390, 2560, 1440]) await requireFits(page, width)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'As CSV' }).press('Enter')
    const csv = await readFile(await (await download).path(), 'utf8')
    assert.equal(csv.trim().split('\n').length, 2)
    assert.ok(csv.includes(LONG))
    await page.reload()
    await page.getByText('1 transfer', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).press('Enter')
    await page.getByRole('combobox', { name: 'Status' }).selectOption('FAILED')
    await page.getByRole('searchbox', { name: 'Channel' }).fill('luz')
    await rows.filter({ hasText: BROKEN }).first().waitFor()
    await page.getByText('1 transfer', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).press('Enter')
    await page.getByLabel('From').fill('2026-02-02')
    await page.getByLabel('To', { exact: true }).fill('2026-01-01')
    await page.getByText('The first day is after the last.').waitFor()
    await page.getByLabel('From').fill('2025-12-31')
    await page.getByText('No transfer fits').waitFor()
    assert.deepEqual(faults, [])
  },
)

test(
  'failures are searched by file and reason, and a search without a match does not say that all is well',
  { skip },
  async () => {
    const { as, faults } = scene()
    const page = await as('pablo')
    await page.getByRole('link', { name: 'Fallos', exact: true }).click()
    await page.locator('.failure').first().waitFor()
    await page.getByRole('searchbox').fill('recibos-')
    await page.getByText('1 fallo', { exact: true }).waitFor()
    await page.getByRole('searchbox').fill('exit code 3')
    await page.locator('.failure').filter({ hasText: PAYROLL }).or(page.locator('.empty')).first().waitFor()
    await page.getByRole('searchbox').fill('no such thing at all')
    await page.getByText('Ningún fallo coincide').waitFor()
    assert.equal(await page.getByText('Todo va bien').count(), 0)
    assert.deepEqual(await axeViolations(page), [])
    await go(page, '/transfers')
    await page.getByRole('heading', { level: 1, name: 'Transferencias' }).waitFor()
    await page.locator('tbody tr').first().waitFor()
    assert.deepEqual(await axeViolations(page), [])
    assert.deepEqual(faults, [])
  },
)

test('a controller is told that transfers are not open, on every page of them', { skip }, async () => {
  const { as } = scene()
  const page = await as('vera')
  assert.equal(await page.getByRole('link', { name: 'Transfers', exact: true }).count(), 0)
  for (const path of ['/transfers', '/failures', `/channels/${PAYROLL}/transfers/x`]) {
    await go(page, path)
    await page.getByRole('heading', { name: 'This page is not open to you' }).waitFor()
  }
  assert.deepEqual(await axeViolations(page), [])
})
