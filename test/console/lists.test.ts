// Lists and their addresses in a real browser: filters, pages, back, and what does not leave a form.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../sdk/index.ts'
import { newFile } from '../../src/transfers/request.ts'
import { insertTransfer } from '../../src/store/transfers/transfers.ts'
import { newId } from '../../src/store/database/ids.ts'
import { axeViolations, go, sharedScene, whyNot } from './browser.ts'
import { PASSWORD, PAYROLL } from './platform.ts'

const skip = whyNot() ?? false
const scene = sharedScene()

test('filters that are set at the same moment all stand', { skip }, async () => {
  const { as, faults } = scene()
  const page = await as('marta')
  await go(page, '/transfers')
  await page.locator('tbody tr').first().waitFor()
  await page.getByRole('searchbox', { name: 'File name' }).fill('nomina')
  await page.getByRole('searchbox', { name: 'Channel' }).fill('ACME')
  await page.getByRole('combobox', { name: 'Status' }).selectOption('FAILED')
  await page.waitForURL(/file=/)
  await page.waitForURL(/search=/)
  const { searchParams } = new URL(page.url())
  assert.deepEqual(
    ['file', 'search', 'status'].map((name) => searchParams.get(name)),
    ['nomina', 'ACME', 'FAILED'],
  )
  assert.deepEqual(faults, [])
})

test('back returns to the page before; a page beyond the last is the last', { skip }, async () => {
  const { as, faults } = scene()
  const page = await as('marta')
  await go(page, '/transfers')
  const current = (number: number) =>
    page
      .getByRole('button', { name: new RegExp(`^Page ${number} of`) })
      .and(page.locator('[aria-current=page]'))
      .waitFor()
  await current(1)
  await page.getByRole('button', { name: 'Next page' }).press('Enter')
  await current(2)
  await page.goBack()
  await current(1)
  assert.equal(new URL(page.url()).pathname, '/console/transfers')
  await go(page, '/channels?page=99')
  await page.getByRole('link', { name: PAYROLL }).waitFor()
  await page.waitForURL((url) => url.search === '')
  await go(page, '/transfers?page=9')
  await page.locator('tbody tr').first().waitFor()
  await page.waitForURL((url) => /^\?page=[2-9]$/.test(url.search))
  assert.deepEqual(faults, [])
})

test(
  'a link with a day that there is not, or a broken escape, is answered by the console',
  { skip },
  async () => {
    const { as, node, faults } = scene()
    const page = await as('marta')
    for (const list of ['/transfers', `/channels/${PAYROLL}/transfers`, '/audit']) {
      await go(page, `${list}?from=2026-02-31&to=2099-13-01`)
      await page.getByRole('button', { name: 'Clear filters' }).waitFor()
      await page.locator('main tbody tr').first().waitFor()
      assert.equal(await page.getByLabel('From', { exact: true }).inputValue(), '')
    }
    for (const path of ['channels/%E0%A4%A', 'nothing/%']) {
      await page.goto(`${node.url}/console/${path}`)
      await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor()
    }
    assert.deepEqual(faults, [])
  },
)

test('what is downloaded or opened elsewhere does not ask about unsaved changes', { skip }, async () => {
  const { as, faults } = scene()
  const page = await as('marta')
  const asked: string[] = []
  await go(page, '/platform-file')
  const file = page.getByRole('textbox', { name: 'The file' })
  await file.fill('localEntities: []')
  page.on('dialog', (dialog) => {
    asked.push(dialog.message())
    void dialog.dismiss()
  })
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download the file' }).click()
  await (await download).path()
  const opened = page.context().waitForEvent('page')
  await page.getByRole('link', { name: 'Users', exact: true }).click({ modifiers: ['Control'] })
  await (await opened).close()
  await page.locator('a.skip').press('Enter')
  assert.deepEqual(asked, [])
  await page.getByRole('link', { name: 'Users', exact: true }).click()
  assert.equal(asked.length, 1)
  page.removeAllListeners('dialog')
  await file.fill('')
  assert.deepEqual(faults, [])
})

test(
  'a transfer of thousands of files shows some at a time, and finds one by its name',
  { skip },
  async () => {
    const { as, node, faults } = scene()
    const now = Date.now()
    const id = newId(now)
    const files = Array.from({ length: 3000 }, (_, index) => {
      const name = `nomina-${index + 1}.txt`
      const path = `${node.files}/payroll/out/${name}`
      return {
        ...newFile({ directory: 0, name, path, size: 10, modifiedAt: now }, index),
        keyDate: '20260101',
        keyTime: '0000000001',
      }
    })
    const made = { direction: 'EMISION', type: 'MANUAL', requestedBy: 'pablo', retryOf: null } as const
    await node.store.write((tx) => insertTransfer(tx, { id, channelCode: PAYROLL, ...made, now, files }))
    const page = await as('marta')
    await go(page, `/channels/${PAYROLL}/transfers/${id}`)
    const rows = page.getByRole('table', { name: 'Files' }).locator('tbody tr')
    await rows.first().waitFor()
    assert.equal(await rows.count(), 200)
    assert.deepEqual(await axeViolations(page), [])
    await page.getByRole('button', { name: 'Page 15 of 15' }).press('Enter')
    await rows.getByText('nomina-3000.txt', { exact: true }).waitFor()
    await page.getByRole('searchbox', { name: 'File name' }).fill('NOMINA-1234.')
    await rows.getByText('nomina-1234.txt', { exact: true }).waitFor()
    assert.equal(await rows.count(), 1)
    await page.getByRole('searchbox', { name: 'File name' }).fill('no such file')
    await page.getByText('No file has that name').waitFor()
    assert.deepEqual(faults, [])
  },
)

test('addresses of partners are written without a word of one language', { skip }, async () => {
  const { node } = scene()
  const client = createClient({ url: node.url, credentials: { username: 'marta', password: PASSWORD } })
  const { content } = await client.platform.searchContacts({ search: 'acme' })
  assert.deepEqual(content[0]?.addresses, ['127.0.0.1:3305'])
})
