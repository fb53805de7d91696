import assert from 'node:assert/strict'
import { test } from 'node:test'
import { axeViolations, go, setScene, signIn, whyNot } from './browser.ts'
import type { Scene } from './browser.ts'
import { PAGES } from '../../console/src/pages.ts'
import type { PageName } from '../../console/src/pages.ts'
import { BROKEN, PAYROLL } from './platform.ts'

const skip = whyNot() ?? false

/** What shows that each page of the menu, and the account's, is there. */
const READY: Record<Exclude<PageName, 'channel' | 'transfer'>, string> = {
  overview: '.tiles',
  channels: 'tbody tr',
  transfers: 'tbody tr',
  failures: '.failure',
  contacts: 'article',
  account: 'tbody tr',
}
const ADDRESSES: [path: string, ready: string][] = [
  ...Object.entries(READY).map(([name, ready]): [string, string] => [PAGES[name as PageName].path, ready]),
  ['/channels?search=nothing+like+it', '.empty'],
  [`/channels/${BROKEN}`, '.advice'],
  [`/channels/${PAYROLL}/transfers`, 'tbody tr'],
  [`/channels/${PAYROLL}/history`, '.mantine-Timeline-item'],
  [`/channels/${PAYROLL}/configuration`, '.config'],
  ['/nowhere', '.empty'],
]

test('every page can be used by everybody, everywhere', { skip }, async (t) => {
  const scene = await setScene(t)
  for (const colorScheme of ['light', 'dark'] as const)
    await t.test(`no page has an axe violation (${colorScheme})`, () => lookAtAll(scene, colorScheme))
  await t.test('on a phone nothing sticks out sideways, and the menu opens and closes', () =>
    lookOnPhone(scene),
  )
  assert.deepEqual(scene.faults, [])
})

async function lookAtAll({ open }: Scene, colorScheme: 'light' | 'dark'): Promise<void> {
  const page = await open({ colorScheme })
  const found: string[] = []
  const look = async (name: string) => {
    for (const violation of await axeViolations(page)) found.push(`${name} ${violation}`)
  }
  await page.locator('form').waitFor()
  await look('sign-in')
  await signIn(page, 'marta')
  for (const [path, ready] of ADDRESSES) {
    await page.locator('.page').waitFor()
    await go(page, path)
    await page.locator(ready).first().waitFor()
    await look(path)
  }
  await go(page, `/channels/${BROKEN}`)
  await page.getByRole('button', { name: 'Reset' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).waitFor()
  await look('confirmation')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await go(page, `/channels/${PAYROLL}/configuration`)
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Further attempts').fill('many')
  await page.getByRole('button', { name: 'Review changes' }).click()
  await page.getByText('Give a whole number.').waitFor()
  await look('form')
  await page.getByLabel('Further attempts').fill('4')
  await page.getByRole('button', { name: 'Review changes' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).waitFor()
  await look('changes')
  await go(page, `/channels/${PAYROLL}/transfers`)
  await page.locator('tbody a').first().click()
  await page.locator('.facts').first().waitFor()
  await look('transfer')
  await page.context().close()
  assert.deepEqual(found, [])
}

async function lookOnPhone({ open }: Scene): Promise<void> {
  const page = await open({ width: 390 })
  await signIn(page, 'marta')
  for (const [path, ready] of ADDRESSES) {
    await page.locator('.page').waitFor()
    await go(page, path)
    await page.locator(ready).first().waitFor()
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(over <= 0, `${path} is ${over} pixels too wide`)
  }
  await page.getByRole('button', { name: 'Menu' }).click()
  await page.getByRole('link', { name: 'Channels', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Channels' }).waitFor()
  await page.context().close()
}
