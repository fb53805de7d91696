// One transfer in a real browser: what would go is shown before a send; a completed one is sent again.

import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { pressIn } from './admin-forms.ts'
import { axeViolations, go, setScene, signIn, whyNot } from './browser.ts'
import { leave, PAYROLL } from './platform.ts'

const skip = whyNot() ?? false

test('a file is uploaded, shown before it is sent, and sent again with a comment', { skip }, async (t) => {
  const { open, node, faults } = await setScene(t)
  const inbox = join(node.files, 'acme/inbox')
  const page = await open()
  await signIn(page, 'marta')
  await page.locator('.tiles').waitFor()
  await go(page, `/channels/${PAYROLL}`)
  await page.getByRole('button', { name: 'Upload and send' }).press('Enter')
  const upload = page.getByRole('dialog', { name: 'Upload files to send' })
  const content = { name: 'nomina.txt', mimeType: 'text/plain', buffer: Buffer.from('hola') }
  await upload.getByLabel('Files').setInputFiles(content)
  assert.deepEqual(await axeViolations(page), [])
  // Held on its way, so that there is something to stop.
  await page.route('**/outbound/**', () => {})
  await upload.getByRole('button', { name: 'Upload', exact: true }).press('Enter')
  await upload.getByRole('button', { name: 'Stop the upload' }).press('Enter')
  await upload.getByText('The upload was stopped').waitFor()
  assert.deepEqual(await readdir(join(node.files, 'payroll/out')), [])
  // The browser's own control is empty again; what would go is named.
  await upload.getByRole('listitem').getByText('nomina.txt').waitFor()
  await page.unroute('**/outbound/**')
  await page.route('**/outbound/**', (route) => route.fulfill({ status: 413, body: '<h1>Too large</h1>' }))
  await upload.getByRole('button', { name: 'Upload', exact: true }).press('Enter')
  await upload.getByText('Something between this browser and the node answered 413.').waitFor()
  await page.unroute('**/outbound/**')
  await upload.getByRole('button', { name: 'Upload', exact: true }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Send files now?' })
  await dialog.getByText('1 file goes').waitFor()
  await dialog.getByText('nomina.txt').waitFor()
  assert.deepEqual(await axeViolations(page), [])
  await pressIn(dialog, 'Send files')
  await page.getByRole('button', { name: 'Follow it' }).press('Enter')
  await page.locator('.page-title').getByText('Completed').waitFor({ timeout: 60_000 })
  // The partner takes what arrived.
  for (const name of await readdir(inbox)) await rm(join(inbox, name), { recursive: true })
  await page.getByRole('button', { name: 'Send again' }).press('Enter')
  const again = page.getByRole('dialog', { name: 'Send these files again?' })
  await again.getByLabel('Why').fill('they lost it')
  assert.deepEqual(await axeViolations(page), [])
  const first = page.url()
  await again.getByRole('button', { name: 'Send again' }).press('Enter')
  await page.waitForURL((url) => url.href !== first, { timeout: 60_000 })
  await page.locator('.page-title').getByText('Completed').waitFor({ timeout: 60_000 })
  // Half a file was on its way when it failed: nothing was delivered.
  const failed = await node.store.write((tx) => leave(tx, node.files, PAYROLL, 'FAILED', Date.now() - 5000))
  await node.store.db
    .updateTable('transfer_file')
    .set({ position: 10_000 })
    .where('transfer_id', '=', failed)
    .execute()
  await go(page, `/channels/${PAYROLL}/transfers/${failed}`)
  await page.getByText(/^Delivered: 0 B of /).waitFor({ timeout: 60_000 })
  assert.deepEqual(faults, [])
})

test(
  'leaving the page while a file is uploaded asks first, and then ends the upload',
  { skip },
  async (t) => {
    const { open, faults } = await setScene(t)
    const page = await open()
    await signIn(page, 'marta')
    await page.locator('.tiles').waitFor()
    await go(page, `/channels/${PAYROLL}`)
    await page.getByRole('button', { name: 'Upload and send' }).press('Enter')
    const upload = page.getByRole('dialog', { name: 'Upload files to send' })
    const content = { name: 'nomina.txt', mimeType: 'text/plain', buffer: Buffer.from('hola') }
    await upload.getByLabel('Files').setInputFiles(content)
    await page.route('**/outbound/**', () => {})
    await upload.getByRole('button', { name: 'Upload', exact: true }).press('Enter')
    await upload.getByRole('button', { name: 'Stop the upload' }).waitFor()
    const asked: string[] = []
    page.once('dialog', (dialog) => {
      asked.push(dialog.message())
      void dialog.accept()
    })
    const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('/outbound/'))
    await page.goBack()
    await page.locator('.tiles').waitFor()
    await ended
    assert.deepEqual(asked, ['The upload is not finished. Leave all the same?'])
    assert.deepEqual(faults, [])
  },
)
