// Pictures of the console for the docs, from the platform that its tests look at. No test: tools/screenshots.ts runs it. A
// picture that no page of the docs shows is not kept (test/docs.test.ts).

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createClient } from '../../sdk/index.ts'
import { go, setScene, signIn } from './browser.ts'
import type { Scene } from './browser.ts'
import { ADDRESSES_OF } from './look.ts'
import { PICTURES, takePicture } from './pictures-of.ts'
import { BROKEN, PASSWORD, PAYROLL } from './platform.ts'

const folder = PICTURES ?? join(import.meta.dirname, '../../docs/screenshots')
const PAGES = ['overview', 'channels', 'failures', 'contacts']

test('pictures for the docs', async (t) => {
  const scene = await setScene(t)
  await addMore(scene)
  await desktop(scene)
  await dark(scene)
  await phone(scene)
})

/** What the tests make themselves: no page is shown empty that would not be in life. */
async function addMore({ node }: Scene): Promise<void> {
  const { platform, ...client } = createClient({
    url: node.url,
    credentials: { username: 'marta', password: PASSWORD },
  })
  const calendar = { holidays: { country: 'ES', region: 'MD' }, closed: ['2026-12-24'] }
  await platform.putCalendar({ calendarId: 'madrid', body: calendar })
  const due = { channel: PAYROLL, direction: 'EMISION' as const, by: '23:30', files: 'nomina-*.txt' }
  await platform.putExpectation({ expectationId: 'payroll', body: { ...due, calendar: 'madrid' } })
  await platform.generateChannelKey({ channelCode: PAYROLL, body: { bits: 2048 } })
  await client.updateChannel({ channelCode: PAYROLL, body: { name: 'Payroll of the group' } })
}

async function desktop({ open }: Scene): Promise<void> {
  const page = await open({ colorScheme: 'light' })
  const shoot = (name: string) => takePicture(page, folder, `${name}-light`)
  await page.locator('form').waitFor()
  await shoot('sign-in')
  await signIn(page, 'marta')
  await page.locator('.page').waitFor()
  for (const name of PAGES) {
    await showPage(page, name)
    await shoot(name)
  }
  await show(page, `/channels/${BROKEN}`, '.advice')
  await shoot('channel')
  await show(page, `/channels/${PAYROLL}/history`, '.mantine-Timeline-item')
  await shoot('history')
  await show(page, `/channels/${PAYROLL}/configuration`, '.config')
  await shoot('configuration')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.locator('.save-bar').waitFor()
  await shoot('edit')
  await show(page, `/channels/${PAYROLL}/transfers`, 'tbody tr')
  await page.locator('tbody a').first().click()
  await page.locator('.hash, .notice').first().waitFor()
  await shoot('transfer')
  await page.context().close()
}

async function dark({ open }: Scene): Promise<void> {
  const page = await open({ colorScheme: 'dark' })
  await signIn(page, 'marta')
  await showPage(page, 'overview')
  await takePicture(page, folder, 'overview-dark')
  await page.context().close()
}

async function phone({ open }: Scene): Promise<void> {
  const page = await open({ width: 390 })
  await signIn(page, 'marta')
  await page.locator('.tiles').waitFor()
  await takePicture(page, folder, 'phone-overview')
  await show(page, '/channels', 'tbody tr')
  await takePicture(page, folder, 'phone-channels')
  await show(page, `/channels/${BROKEN}`, '.advice')
  await takePicture(page, folder, 'phone-channel')
  await page.context().close()
}

async function showPage(page: Page, name: string): Promise<void> {
  const [path, ready] = ADDRESSES_OF[name] ?? assert.fail(`there is no page ${name}`)
  await show(page, path, ready)
}

async function show(page: Page, path: string, ready: string): Promise<void> {
  await go(page, path)
  await page.locator(ready).first().waitFor()
}
