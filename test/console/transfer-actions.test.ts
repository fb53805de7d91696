// One transfer in a real browser: what would go is shown before a send; a completed one is sent again.

import assert from 'node:assert/strict'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { axeViolations, go, setScene, signIn, whyNot } from './browser.ts'
import { PAYROLL } from './platform.ts'

const skip = whyNot() ?? false

test('files are shown before they are sent, and sent again with a comment', { skip }, async (t) => {
  const { open, node, faults } = await setScene(t)
  await writeFile(join(node.files, 'payroll/out/nomina.txt'), 'hola')
  const inbox = join(node.files, 'acme/inbox')
  const page = await open()
  await signIn(page, 'marta')
  await page.locator('.tiles').waitFor()
  await go(page, `/channels/${PAYROLL}`)
  await page.getByRole('button', { name: 'Send files' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Send files now?' })
  await dialog.getByText('1 file goes').waitFor()
  await dialog.getByText('nomina.txt').waitFor()
  assert.deepEqual(await axeViolations(page), [])
  await dialog.getByRole('button', { name: 'Send files' }).press('Enter')
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
  assert.deepEqual(faults, [])
})
