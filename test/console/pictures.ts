// Pictures of every page of the console, from the platform that its tests look at. No test: tools/screenshots.ts runs it.

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
/** What looks the same but for its colours as another page is taken in the light alone. */
const DARK = new Set([
  'overview',
  'channels',
  'transfers',
  'failures',
  'contacts',
  'channel',
  'transfer',
  'configuration',
])

test('pictures of every page', async (t) => {
  const scene = await setScene(t)
  await addMore(scene)
  await desktop(scene, 'light')
  await desktop(scene, 'dark')
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
  const mail = { to: ['tesoreria@banco.example'], language: 'es' as const }
  await platform.putSubscription({
    subscriptionId: 'treasury',
    body: { events: ['transfer.failed', 'expectation.*'], mail },
  })
  const due = { channel: PAYROLL, direction: 'EMISION' as const, by: '23:30', files: 'nomina-*.txt' }
  await platform.putExpectation({ expectationId: 'payroll', body: { ...due, calendar: 'madrid' } })
  await platform.createToken({ body: { user: 'pablo', name: 'accounting', hours: 720 } })
  await platform.generateChannelKey({ channelCode: PAYROLL, body: { bits: 2048 } })
  await client.updateChannel({ channelCode: PAYROLL, body: { name: 'Payroll of the group' } })
}

async function desktop({ open }: Scene, colorScheme: 'light' | 'dark'): Promise<void> {
  const page = await open({ colorScheme })
  const shoot = async (name: string) => {
    if (colorScheme === 'light' || DARK.has(name)) await takePicture(page, folder, `${name}-${colorScheme}`)
  }
  await page.locator('form').waitFor()
  await shoot('sign-in')
  await signIn(page, 'marta')
  await page.locator('.page').waitFor()
  for (const [name, [path, ready]] of Object.entries(ADDRESSES_OF)) {
    await show(page, path, ready)
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

async function show(page: Page, path: string, ready: string): Promise<void> {
  await go(page, path)
  await page.locator(ready).first().waitFor()
}
