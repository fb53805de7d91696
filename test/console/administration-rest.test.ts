// Notices, tokens and the platform file in a real browser, and who is offered which page.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { FORMS, PAGE_NAMES, PAGES } from '../../console/src/pages.ts'
import type { PageName } from '../../console/src/pages.ts'
import { rightsOf } from '../../console/src/session/rights.ts'
import { authsOf } from '../../src/domain/user.ts'
import { fill, press, pressIn, save } from './admin-forms.ts'
import { axeViolations, go, setScene, sharedScene, whyNot } from './browser.ts'
import { USERS } from './platform.ts'

const skip = whyNot() ?? false
const scene = sharedScene()

test('calendars, expectations and subscriptions are made and removed', { skip }, async () => {
  const { as, faults } = scene()
  const page = await as('marta')
  await go(page, '/calendars/new')
  await fill(page, { Identifier: 'madrid', Country: 'ES', Region: 'MD', 'Further closed days': '2026-12-24' })
  await save(page, '+ calendar madrid')
  await go(page, '/expectations/new')
  await fill(page, {
    Identifier: 'payroll-out',
    Channel: 'BANCO-ACME-NOMINA',
    Direction: 'EMISION',
    'Due by': '22:00',
    Calendar: 'madrid',
  })
  await save(page, '+ expectation payroll-out')
  await page.getByRole('link', { name: 'payroll-out' }).waitFor()
  await go(page, '/subscriptions/new')
  await fill(page, { Identifier: 'night', Events: 'transfer.failed', 'Told to': 'night@banco.example' })
  await save(page, '+ subscription night')
  await press(page, 'Test: night')
  await page.getByText('A test was sent to night').waitFor()
  await go(page, '/calendars')
  await press(page, 'Remove: madrid')
  await pressIn(page.getByRole('dialog'), 'Remove')
  await page.getByText(/calendar madrid is used by expectation payroll-out/).waitFor()
  assert.deepEqual(faults, [])
})

test('a partner beyond what one list shows is searched for and chosen', { skip }, async (t) => {
  const { node, as, faults } = await setScene(t)
  node.context.maxPageSize = 1
  const page = await as('marta')
  await go(page, '/channels/new')
  await page.getByText(/^The first 1 of \d+: search for the others/).waitFor()
  await page.getByLabel('Search: Partner').fill('puerto')
  await page.locator('option[value=puerto]').waitFor({ state: 'attached' })
  await page.getByLabel('Partner', { exact: true }).selectOption('puerto')
  await page.getByLabel('Search: Partner').fill('')
  await page.locator('option[value=PUERTO]').waitFor({ state: 'attached' })
  assert.equal(await page.getByLabel('Partner', { exact: true }).inputValue(), 'puerto')
  assert.deepEqual(await axeViolations(page), [])
  assert.deepEqual(faults, [])
})

test(
  'a token is shown once and taken back; a platform file shows its plan and is applied',
  { skip },
  async () => {
    const { as, faults } = scene()
    const page = await as('marta')
    await go(page, '/tokens')
    await page.getByLabel('User').fill('pablo')
    await page.getByLabel('What it is for').fill('night batch')
    await press(page, 'Make a token')
    await page.getByText(/^eyJ/).waitFor()
    assert.deepEqual(await axeViolations(page), [])
    await press(page, 'Take back: night batch')
    await pressIn(page.getByRole('dialog'), 'Take back')
    await page.getByRole('cell', { name: 'Taken back' }).waitFor()
    await go(page, '/platform-file')
    await page
      .getByRole('textbox', { name: 'The file' })
      .fill('localEntities:\n  - { code: NUEVA, name: Nueva }\n  - { nonsense: 1 }\n')
    await press(page, 'Show what would change')
    await page
      .getByRole('alert')
      .getByText(/nonsense/)
      .waitFor()
    await page
      .getByLabel('The file', { exact: true })
      .fill('localEntities:\n  - { code: NUEVA, name: Nueva }\n')
    await press(page, 'Show what would change')
    await page.getByText('+ local entity NUEVA').waitFor()
    assert.deepEqual(await axeViolations(page), [])
    await page.getByRole('button', { name: 'Apply', exact: true }).press('Enter')
    await page.getByText('1 added, 0 changed, 0 removed').waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download the file' }).press('Enter')
    assert.match(await readFile(await (await download).path(), 'utf8'), /NUEVA/)
    assert.deepEqual(faults, [])
  },
)

test('what a role may not do is neither in the menu nor behind its address', { skip }, async () => {
  const { as } = scene()
  for (const { username, role, auths, language } of USERS) {
    const { may } = rightsOf({ role, auths: authsOf(role, auths) })
    const closed =
      language === 'es' ? 'Esta página no está abierta para usted' : 'This page is not open to you'
    const page = await as(username)
    const links = await page
      .getByRole('navigation')
      .getByRole('link')
      .evaluateAll((all) => all.map((link) => new URL((link as HTMLAnchorElement).href).pathname))
    const offered = PAGE_NAMES.filter((name) => 'menu' in PAGES[name] && PAGES[name].needs.every(may))
    assert.deepEqual(
      links.filter((path) => path !== '/console/account').toSorted(),
      offered
        .map((name: PageName) => `/console${PAGES[name].path}`)
        .map((path) => (path === '/console/' ? '/console/' : path))
        .toSorted(),
    )
    const others = [
      ...PAGE_NAMES.filter((name) => !PAGES[name].needs.every(may)).map((name) =>
        PAGES[name].path.replace(':code', 'A-B-C').replace(':id', 'x'),
      ),
      ...FORMS.flatMap(({ create, change }) => [create, change])
        .filter(({ needs }) => !may(needs))
        .map(({ path }) => path.replace(':id', 'x')),
    ]
    assert.ok(username === 'marta' ? others.length === 0 : others.length > 10)
    for (const path of others) {
      await go(page, path)
      await page.getByRole('heading', { name: closed }).waitFor()
      await go(page, '/account')
      await page.getByRole('heading', { name: closed }).waitFor({ state: 'detached' })
    }
  }
})
