// Where the focus is, what the page is called and which questions stay open when something goes away: a row, a page, a dialog.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../sdk/index.ts'
import { fill, press, pressIn } from './admin-forms.ts'
import { go, sharedScene, signIn, whyNot } from './browser.ts'
import { focusOn } from './focus.ts'
import { PASSWORD, PAYROLL } from './platform.ts'

const skip = whyNot() ?? false
const scene = sharedScene()

const client = () =>
  createClient({ url: scene().node.url, credentials: { username: 'marta', password: PASSWORD } })

test('a row that is removed leaves the focus at the heading; Escape, at its button', { skip }, async () => {
  const { as, faults } = scene()
  const page = await as('marta')
  await client().platform.createEntity({ body: { code: 'PASSING', name: 'Passing' } })
  await go(page, '/entities')
  const dialog = page.getByRole('dialog')
  await press(page, 'Remove: PASSING')
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await focusOn(page, 'Remove: PASSING')
  await press(page, 'Remove: PASSING')
  await pressIn(dialog, 'Remove')
  await page.getByRole('link', { name: 'PASSING' }).waitFor({ state: 'detached' })
  await focusOn(page, 'Local entities')
  assert.deepEqual(faults, [])
})

test('rows of a form and the last page of a list keep the focus beside them', { skip }, async () => {
  const { as, faults } = scene()
  const page = await as('marta')
  await go(page, '/partners/new')
  for (const _ of [1, 2, 3]) await press(page, 'Add: Remote codes')
  // The row that takes the place of a removed one; behind the last there is none.
  await press(page, 'Remove 2')
  await page.getByRole('button', { name: 'Remove 3' }).waitFor({ state: 'detached' })
  await focusOn(page, 'Remove 2')
  await page.keyboard.press('Enter')
  await focusOn(page, 'Add: Remote codes')
  await press(page, 'Remove 1')
  await focusOn(page, 'Add: Remote codes')
  await go(page, '/transfers')
  const next = page.getByRole('button', { name: 'Next page' })
  for (let last = false; !last; last = (await next.getAttribute('aria-disabled')) === 'true') {
    await next.focus()
    const address = page.url()
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.href !== address)
    const number = new URL(page.url()).searchParams.get('page') ?? ''
    await page.locator('[aria-current=page]').getByText(number, { exact: true }).waitFor()
  }
  await focusOn(page, 'Next page')
  const address = page.url()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Previous page' }).press('Enter')
  await page.waitForURL((url) => url.href !== address)
  assert.deepEqual(faults, [])
})

test('a page that is not there has a title of its own, and the focus', { skip }, async () => {
  const { as, faults } = scene()
  const page = await as('vera')
  const titled = (text: string) =>
    page.waitForFunction((wanted) => document.title === `${wanted} · Esclusa`, text)
  await go(page, '/channels')
  await titled('Channels')
  for (const [path, title] of [
    [`/channels/${PAYROLL}/nothing`, 'There is nothing at this address'],
    ['/users', 'This page is not open to you'],
    [`/channels/${PAYROLL}/transfers`, 'This page is not open to you'],
    ['/channels/BANCO-PUERTO-MANIFIESTO', 'This channel is not open to you'],
  ] as const) {
    await go(page, '/channels')
    await page.getByRole('link', { name: PAYROLL }).focus()
    await go(page, path)
    await titled(title)
    await focusOn(page, title)
    assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1)
  }
  assert.deepEqual(faults, [])
})

test('a question is gone with the page it was asked on, and with its user', { skip }, async () => {
  const { open, node, faults } = scene()
  const page = await open()
  await signIn(page, 'marta')
  await page.locator('.tiles').waitFor()
  await go(page, '/entities')
  const dialog = page.getByRole('dialog')
  await press(page, 'Remove: BANCO')
  await dialog.waitFor()
  await page.goBack()
  await page.locator('.tiles').waitFor()
  await dialog.waitFor({ state: 'detached' })
  await go(page, '/entities')
  await press(page, 'Remove: BANCO')
  await dialog.waitFor()
  const data = { username: 'pablo', password: PASSWORD }
  assert.equal(
    (await page.request.post(`${node.url}/connect-back/platform/v1/session`, { data })).status(),
    200,
  )
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await page.getByRole('button', { name: 'Go on as pablo' }).click()
  await page.getByRole('heading', { level: 1, name: 'Esta página no está abierta para usted' }).waitFor()
  await dialog.waitFor({ state: 'detached' })
  await page.waitForFunction(() => document.title === 'Esta página no está abierta para usted · Esclusa')
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('a page without a title of its own does not go by that of another user’s page', { skip }, async () => {
  const { open, node, faults } = scene()
  const page = await open()
  await signIn(page, 'marta')
  await page.locator('.tiles').waitFor()
  await go(page, `/channels/${PAYROLL}`)
  await page.waitForFunction((code) => document.title === `${code} · Esclusa`, PAYROLL)
  const data = { username: 'pablo', password: PASSWORD }
  await page.request.post(`${node.url}/connect-back/platform/v1/session`, { data })
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await page.getByRole('button', { name: 'Go on as pablo' }).click()
  await page.locator('.who').getByText('Operador', { exact: true }).waitFor()
  await page.getByRole('heading', { level: 1, name: PAYROLL }).waitFor()
  await page.route(/connect-back.*ADEUDO/, (route) => route.fulfill({ status: 500, json: {} }))
  await go(page, '/channels/BANCO-ACME-ADEUDO')
  await page.getByRole('button', { name: 'Intentar de nuevo' }).waitFor()
  assert.equal(await page.title(), 'Esclusa')
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('only a password that is there can be taken away', { skip }, async () => {
  const { as } = scene()
  const page = await as('marta')
  const username = 'robot'
  const body = { email: 'robot@banco.example', role: 'ROLE_OPERATOR' } as const
  await client().platform.createUser({ body: { username, ...body } })
  await go(page, '/users/edit/robot')
  const password = page.getByRole('textbox', { name: 'New password' })
  await password.waitFor()
  const takeAway = page.getByRole('button', { name: /^Take away/ })
  assert.equal(await takeAway.count(), 0)
  await fill(page, { 'Last name': 'Mine' })
  // Somebody else has given one meanwhile, and then taken it away again.
  await client().platform.changeUser({ username, body: { ...body, password: PASSWORD } })
  await press(page, 'Review changes')
  await press(page, 'Go on with mine')
  await takeAway.press('Enter')
  await password.and(page.locator(':disabled')).waitFor()
  await client().platform.changeUser({ username, body: { ...body, password: null } })
  await press(page, 'Review changes')
  await press(page, 'Go on with mine')
  await password.and(page.locator(':enabled')).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Leave it as it is' }).count(), 0)
  await go(page, '/users/edit/pablo')
  await press(page, 'Take away: Password')
  await page.getByRole('button', { name: 'Leave it as it is' }).press('Enter')
})

test('a channel’s form offers to remove only the secrets that are stored', { skip }, async () => {
  const { as, faults } = scene()
  const page = await as('marta')
  await client().updateChannel({ channelCode: PAYROLL, body: { security: { localKey: 'ours' } } })
  await go(page, `/channels/${PAYROLL}/configuration`)
  await press(page, 'Edit')
  await page.getByLabel('Our session secret', { exact: true }).waitFor()
  const offered = (label: string) =>
    page.getByLabel(label, { exact: true }).locator('option').allTextContents()
  assert.deepEqual(await offered('Our session secret'), ['Leave as it is', 'Replace', 'Remove'])
  assert.deepEqual(await offered('The partner’s session secret'), ['Leave as it is', 'Replace'])
  assert.deepEqual(faults, [])
})

test(
  'a directory that is removed from a channel’s form leaves the focus at the directories',
  { skip },
  async () => {
    const { open, faults } = scene()
    const page = await open()
    await signIn(page, 'marta')
    await page.locator('.tiles').waitFor()
    await go(page, `/channels/${PAYROLL}/configuration`)
    await press(page, 'Edit')
    await press(page, 'Remove directory 1')
    await page.getByRole('button', { name: 'Remove directory 2' }).waitFor({ state: 'detached' })
    await focusOn(page, 'Remove directory 1')
    await page.keyboard.press('Enter')
    await focusOn(page, 'Add a directory')
    assert.deepEqual(faults, [])
    await page.context().close()
  },
)

test('high contrast shows what is chosen, and paper has the page alone', { skip }, async () => {
  const { open } = scene()
  const page = await open()
  await signIn(page, 'marta')
  await page.locator('.tiles').waitFor()
  const line = (state: string) =>
    page
      .locator(`.mantine-SegmentedControl-label${state}`)
      .first()
      .evaluate((label) => getComputedStyle(label).outlineStyle)
  await page.emulateMedia({ forcedColors: 'active' })
  assert.deepEqual([await line('[data-active]'), await line(':not([data-active])')], ['solid', 'none'])
  await page.emulateMedia({ forcedColors: 'none', media: 'print' })
  assert.equal(await page.locator('.menu').isVisible(), false)
  assert.equal(await page.locator('.tiles').isVisible(), true)
  assert.ok(await page.locator('#main').evaluate((main) => main.getBoundingClientRect().left === 0))
  await page.context().close()
})
