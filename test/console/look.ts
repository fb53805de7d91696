// Looks at every page of the console; what shows that each is there.

import assert from 'node:assert/strict'
import { axeViolations, go, requireFits, signIn } from './browser.ts'
import type { Page } from 'playwright-core'
import type { Scene } from './browser.ts'
import { PAGES } from '../../console/src/pages.ts'
import type { PageName } from '../../console/src/pages.ts'
import { addLongNames } from './long-names.ts'
import { BROKEN, PAYROLL, USERS } from './platform.ts'
import { walkWizard } from './wizard.ts'

/** What shows that each page of the menu, and the account's, is there. */
const OPERATION = {
  overview: '.tiles',
  channels: 'tbody tr',
  transfers: 'tbody tr',
  failures: '.failure',
  quarantine: '.empty',
  keys: '.empty',
  keyList: '.empty, tbody tr',
  contacts: 'article',
  account: 'tbody tr',
}
const ADMINISTERED = {
  newChannel: 'form',
  newPartner: 'form',
  users: 'tbody tr',
  entities: 'tbody tr',
  partners: 'tbody tr',
  calendars: '.empty, tbody tr',
  subscriptions: '.empty, tbody tr',
  expectations: '.empty, tbody tr',
  tokens: 'form',
  audit: 'tbody tr',
  platformFile: 'textarea',
}
/** No page is forgotten: the type makes a missing one an error. */
const READY: Record<Exclude<PageName, 'channel' | 'transfer'>, string> = { ...OPERATION, ...ADMINISTERED }

const WIDTHS = [2560, 1440, 320] as const

type Address = [path: string, ready: string]

/** Every page that has an address of its own, by name. */
export const ADDRESSES_OF = Object.fromEntries(
  (Object.keys(READY) as (keyof typeof READY)[]).map((name): [string, Address] => [
    name,
    [PAGES[name].path, READY[name]],
  ]),
)

const addresses = (names: object): Address[] =>
  (Object.keys(names) as (keyof typeof READY)[]).map((name) => [PAGES[name].path, READY[name]])
const ADMINISTRATION = addresses(ADMINISTERED)
const ADDRESSES: Address[] = [
  ...addresses(OPERATION),
  ['/channels?search=nothing+like+it', '.empty'],
  [`/channels/${BROKEN}`, '.advice'],
  [`/channels/${PAYROLL}/transfers`, 'tbody tr'],
  [`/channels/${PAYROLL}/history`, '.mantine-Timeline-item'],
  [`/channels/${PAYROLL}/configuration`, '.config'],
  ['/nowhere', '.empty'],
]

/**
 * Pages that operators use, with their dialogs and the form; or those of administration, with the steps to a partner.
 * Each in the light by every rule, and in the dark by those about colours: nothing else differs. The page follows the
 * system from one to the other, and begins with the given one.
 */
export async function lookAt(
  scene: Scene,
  part: 'operation' | 'administration',
  first: 'light' | 'dark',
): Promise<void> {
  const page = await scene.open({ colorScheme: first })
  const found: string[] = []
  let current = first
  const look = async (name: string) => {
    for (const colorScheme of [current, current === 'light' ? ('dark' as const) : ('light' as const)]) {
      if (colorScheme !== current) await switchTo(page, (current = colorScheme))
      for (const violation of await axeViolations(page, colorScheme === 'dark'))
        found.push(`${name} (${colorScheme}) ${violation}`)
    }
  }
  await page.locator('form').waitFor()
  await look('sign-in')
  await signIn(page, 'marta')
  for (const [path, ready] of part === 'operation' ? ADDRESSES : ADMINISTRATION) {
    await page.locator('.page').waitFor()
    await go(page, path)
    await page.locator(ready).first().waitFor()
    await look(path)
  }
  if (part === 'operation') await lookAtDialogs(page, look)
  else await walkWizard(scene, page, look)
  await page.context().close()
  assert.deepEqual(found, [])
}

async function switchTo(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
}

async function lookAtDialogs(page: Page, look: (name: string) => Promise<void>): Promise<void> {
  await go(page, `/channels/${BROKEN}`)
  await page.getByRole('button', { name: 'Reset' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).waitFor()
  await look('confirmation')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await go(page, `/channels/${PAYROLL}/configuration`)
  await page.getByRole('button', { name: 'Edit' }).click()
  // Fields that are disabled are grey on grey, and axe leaves them out.
  assert.equal(await page.locator('.config input:disabled, form input:disabled').count(), 0)
  assert.equal(await page.getByLabel('Application', { exact: true }).isEditable(), false)
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
}

/** Every page at three widths, with names as long as they may be. */
export async function lookAtWidths({ open, node }: Scene): Promise<void> {
  const long = await addLongNames(node)
  const page = await open({ width: 390 })
  await signIn(page, 'marta')
  const longer: Address[] = [
    [`/channels/${long.code}`, '.advice'],
    [`/channels/${long.code}/transfers`, 'tbody tr'],
    [`/channels/${long.code}/history`, '.mantine-Timeline-item'],
    [`/channels/${long.code}/configuration`, '.config'],
    [`/channels/${long.code}/transfers/${long.transferId}`, '.facts'],
    [`/users/edit/${USERS[0]?.username}`, 'form'],
    [`/partners/edit/${long.contact}`, 'form'],
    [`/expectations/edit/${long.expectation}`, 'form'],
    [`/subscriptions/edit/${long.subscription}`, 'form'],
    [`/channels/new?from=${long.code}`, 'form'],
  ]
  // There and back: the page is laid out and painted anew at each change.
  const widths = [...WIDTHS].reverse()
  for (const [path, ready] of [...addresses(OPERATION), ...ADMINISTRATION, ...longer]) {
    await page.locator('.page').waitFor()
    await go(page, path)
    await page.locator(ready).first().waitFor()
    for (const width of widths) await requireFits(page, width, path)
    widths.reverse()
  }
  await page.setViewportSize({ width: 390, height: 900 })
  await page.getByRole('button', { name: 'Menu' }).click()
  await page.getByRole('link', { name: 'Channels', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Channels' }).waitFor()
  await page.context().close()
}
