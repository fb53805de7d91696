import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '../../sdk/index.ts'
import { waitFor } from '../support/harness.ts'
import type { Locator, Page } from 'playwright-core'
import {
  endSessionsOf,
  failBroken,
  go,
  mendBroken,
  requireFits,
  sharedScene,
  signIn,
  whyNot,
} from './browser.ts'
import { focusOn } from './focus.ts'
import { BROKEN, PASSWORD, PAYROLL } from './platform.ts'

const skip = whyNot() ?? false
const scene = sharedScene()
const INVOICES = 'BANCO-ACME-FACTURA'

test(
  'an operator signs in once for every tab, and out of all; scripts never see the secret',
  { skip },
  async () => {
    const { open, node, faults } = scene()
    const page = await open()
    await signIn(page, 'marta', 'not the password')
    await page.getByRole('alert').getByText('The username or the password is not right.').waitFor()
    await signIn(page, 'marta')
    const overview = { level: 1, name: 'Overview' } as const
    await page.getByRole('heading', overview).waitFor()
    const kept = await page.evaluate(() =>
      JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie]),
    )
    const [cookie] = await page.context().cookies(`${node.url}/connect-back/`)
    assert.ok(cookie?.httpOnly && cookie.sameSite === 'Strict')
    assert.ok(!kept.includes(cookie.value), kept)
    await page.reload()
    await page.getByRole('heading', overview).waitFor()
    const tab = await page.context().newPage()
    await tab.goto(node.url)
    await tab.getByRole('heading', overview).waitFor()
    assert.equal(new URL(tab.url()).pathname, '/console/')
    await tab.getByRole('button', { name: 'Sign out' }).click()
    await tab.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.deepEqual(await node.store.db.selectFrom('console_session').selectAll().execute(), [])
    assert.deepEqual(faults, [])
    await page.context().close()
  },
)

test('the first page needs less than 250 KiB of compressed script', { skip }, async (t) => {
  const { open } = scene()
  const scripts: Promise<{ responseBodySize: number }>[] = []
  const page = await open({
    watch: (page) =>
      page.on('requestfinished', (request) => {
        if (request.resourceType() === 'script') scripts.push(request.sizes())
      }),
  })
  await signIn(page, 'marta')
  await page.locator('.tiles').waitFor()
  const bytes = (await Promise.all(scripts)).reduce((sum, { responseBodySize }) => sum + responseBodySize, 0)
  assert.ok(bytes > 50_000 && bytes < 250 * 1024, `${bytes} bytes`)
  t.diagnostic(`${bytes} bytes of script until the overview`)
  await page.context().close()
})

const adviceOf = (page: Page) => page.locator('.advice')

test('a failed transfer is found on the overview and retried, by whoever may', { skip }, async () => {
  const { as, open, node, faults } = scene()
  await failBroken(node)
  const controller = await as('vera')
  await go(controller, `/channels/${BROKEN}`)
  await adviceOf(controller).getByText('Somebody with the permission to operate can retry it').waitFor()
  const operator = await as('pablo')
  await go(operator, `/channels/${BROKEN}`)
  await adviceOf(operator).getByText('corríjalo y reintente').waitFor()
  await mendBroken(node)
  const page = await open()
  await signIn(page, 'marta')
  await page.getByRole('button', { name: `Retry: ${BROKEN}` }).click()
  const dialog = page.getByRole('dialog', { name: 'Retry the failed transfer?' })
  await dialog.getByText('goes on from where the failed one stopped').waitFor()
  await dialog.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('button', { name: 'Follow it' }).click()
  await page.locator('.page-title').getByText('Completed').waitFor()
  await page.getByText('the failed transfer').waitFor()
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('files are sent and the bar reaches the end', { skip }, async () => {
  const { as, node, faults } = scene()
  await writeFile(join(node.files, 'payroll/out/payroll.bin'), randomBytes(24_000_000))
  const page = await as('marta')
  await page.getByRole('link', { name: 'Channels', exact: true }).click()
  await page
    .getByRole('textbox', { name: 'Search' })
    .or(page.getByRole('searchbox', { name: 'Search' }))
    .fill('payroll')
  await page.getByText('1 channel', { exact: true }).waitFor()
  await page.getByRole('link', { name: PAYROLL }).click()
  await page.getByRole('button', { name: 'Send files' }).waitFor()
  await focusOn(page, PAYROLL)
  await page.getByRole('button', { name: 'Send files' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send files' }).click()
  await page.getByRole('button', { name: 'Follow it' }).click()
  await page.locator('[role=progressbar][aria-valuenow="100"]').waitFor()
  await page.locator('.page-title').getByText('Completed').waitFor()
  const row = page.getByRole('row').filter({ hasText: 'payroll.bin' })
  await row.getByText('Moved').waitFor()
  await row.getByRole('button', { name: /Copy the hash: [0-9a-f]{64}/ }).waitFor()
  assert.deepEqual(faults, [])
})

test('a refused value is shown at its field, by the form and by the node', { skip }, async () => {
  const { as, faults } = scene()
  const page = await as('marta')
  await go(page, `/channels/${INVOICES}/configuration`)
  await page.getByRole('button', { name: 'Edit' }).click()
  const has = (control: Locator) => control.evaluate((element) => element === document.activeElement)
  const hour = page.getByLabel('Open from')
  await hour.waitFor()
  assert.ok(await has(page.getByLabel('Name', { exact: true })))
  await page.getByLabel('Sending is open').getByText('Not set: open').waitFor({ state: 'attached' })
  const path = page.getByLabel('Path').first()
  const good = await path.inputValue()
  await hour.fill('25:00')
  await path.fill('not a whole path')
  await page.getByRole('button', { name: 'Review changes' }).click()
  await page.getByText('Give an hour as HH:mm').waitFor()
  assert.equal(await hour.getAttribute('aria-invalid'), 'true')
  assert.ok(await has(path), 'the first of the two on the page')
  await path.fill(good)
  await page.getByRole('button', { name: 'Review changes' }).click()
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true')
  assert.ok(await has(hour))
  await hour.fill('06:30')
  await page.getByLabel('Name', { exact: true }).fill('Salaries')
  await path.fill('/etc')
  await page.getByRole('button', { name: 'Review changes' }).click()
  const dialog = page.getByRole('dialog', { name: 'What will change' })
  await dialog.getByRole('row').filter({ hasText: 'Invoices' }).getByText('Salaries').waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/must lie inside ESCLUSA_FILE_ROOTS/).waitFor()
  assert.equal(await path.getAttribute('aria-invalid'), 'true')
  await path.fill(good)
  await page.getByRole('button', { name: 'Review changes' }).click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The configuration was saved').waitFor()
  await page.getByText('06:30').waitFor()
  await page.locator('.subtitle').getByText('Salaries').waitFor()
  assert.deepEqual(faults, [])
})

test(
  'unsaved changes are not left without a question, and somebody else’s change is shown before it is saved over',
  { skip },
  async () => {
    const { open, node, faults } = scene()
    const client = createClient({ url: node.url, credentials: { username: 'marta', password: PASSWORD } })
    // Not the page that was used before, which may still say that something was saved.
    const page = await open()
    await signIn(page, 'marta')
    await page.getByRole('link', { name: 'Channels', exact: true }).click()
    await page.getByRole('link', { name: PAYROLL }).click()
    await page.getByRole('tab', { name: 'Configuration' }).click()
    await page.getByRole('button', { name: 'Edit' }).click()
    const name = page.getByLabel('Name', { exact: true })
    await name.fill('Mine')
    const asked: string[] = []
    page.on('dialog', (dialog) => {
      asked.push(dialog.message())
      void dialog.dismiss()
    })
    await page.getByRole('link', { name: 'Contacts' }).click()
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.evaluate(() => history.back())
    await waitFor('every way out has asked', () => asked.length === 5)
    assert.match(asked.join(), /not saved yet/)
    await page.waitForURL(/configuration$/, { timeout: 60_000 })
    assert.equal(await name.inputValue(), 'Mine')
    await client.updateChannel({ channelCode: PAYROLL, body: { category: 'Theirs' } })
    await page.getByRole('button', { name: 'Review changes' }).click()
    const dialog = page.getByRole('dialog', { name: 'What will change' })
    await dialog.getByRole('button', { name: 'Save' }).click()
    const alert = page.getByRole('alert').filter({ hasText: 'Somebody else has changed it meanwhile' })
    await alert.getByText(/Category: Payments → Theirs/).waitFor()
    assert.equal((await client.channelConfiguration({ channelCode: PAYROLL }))[0]?.name, 'Payroll')
    await alert.getByRole('button', { name: 'Go on with mine' }).click()
    await page.getByRole('button', { name: 'Review changes' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The configuration was saved').waitFor()
    const [saved] = await client.channelConfiguration({ channelCode: PAYROLL })
    assert.deepEqual([saved?.name, saved?.category], ['Mine', 'Theirs'])
    await page.getByRole('tab', { name: 'History' }).click()
    const mine = page.locator('.mantine-Timeline-item').filter({ hasText: 'Name: Payroll → Mine' })
    await mine.getByText('by marta').waitFor()
    await page.getByRole('link', { name: 'Open the transfer' }).first().waitFor()
    await page.getByRole('link', { name: 'Contacts' }).click()
    await page.getByRole('heading', { level: 1, name: 'Contacts' }).waitFor()
    assert.equal(asked.length, 5)
    assert.deepEqual(faults, [])
    await page.context().close()
  },
)

test('the session warns before it ends, and what was typed waits behind the sign-in', { skip }, async () => {
  const { open, node } = scene()
  const page = await open()
  await page.clock.install()
  await signIn(page, 'marta')
  await page.locator('.tiles').waitFor()
  await page.clock.fastForward('11:57:00')
  await page.getByText('Your session ends in 3 minutes.').waitFor()
  await page.getByRole('button', { name: 'Stay signed in' }).click()
  await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Your session ends in 3 minutes.').waitFor({ state: 'detached' })
  await go(page, `/channels/${PAYROLL}/configuration`)
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Half typed')
  // The node decides that it is over.
  await endSessionsOf(node, 'marta')
  await page.clock.fastForward('12:00:01')
  await page.getByText('Your session has ended.').waitFor()
  assert.equal(await page.getByLabel('Name', { exact: true }).isVisible(), false)
  await signIn(page, 'marta')
  await page.getByLabel('Name', { exact: true }).waitFor()
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Half typed')
  await page.context().close()
})

test('the keyboard reaches the content past the navigation', { skip }, async () => {
  const { open } = scene()
  const page = await open()
  await page.locator('input[name=username]').focus()
  await page.keyboard.type('marta')
  await page.keyboard.press('Tab')
  await page.keyboard.type(PASSWORD)
  await page.keyboard.press('Enter')
  await page.locator('.tiles').waitFor()
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement?.className), 'skip')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  assert.ok(await page.evaluate(() => document.activeElement?.classList.contains('tile')))
  // The menu is longer than the window: it shows where one is.
  await go(page, '/platform-file')
  await page.waitForFunction(() => {
    const menu = document.querySelector('.menu')?.getBoundingClientRect()
    const here = document.querySelector('.menu [aria-current=page]')?.getBoundingClientRect()
    return menu && here && here.top >= menu.top && here.bottom <= menu.bottom + 1
  })
  await page.context().close()
})

test('what a user may not do is not offered', { skip }, async () => {
  const { as } = scene()
  const operator = await as('pablo')
  await operator.getByRole('heading', { level: 1, name: 'Resumen' }).waitFor()
  await go(operator, `/channels/${PAYROLL}/configuration`)
  await operator.getByText('Puede leer esta configuración, pero no cambiarla.').waitFor()
  assert.equal(await operator.getByRole('button', { name: 'Editar' }).count(), 0)
  assert.equal(await operator.getByRole('button', { name: 'Enviar ficheros' }).count(), 1)
  await go(operator, '/channels/BANCO-PUERTO-MANIFIESTO')
  await operator.getByText('Este canal no está abierto para usted').waitFor()
  const controller = await as('vera')
  await controller.getByText('Your role shows channels, but not transfers.').waitFor()
  assert.equal(await controller.getByRole('link', { name: 'Failures' }).count(), 0)
  await controller.getByRole('link', { name: 'Contacts' }).click()
  await controller.getByText('You may not see contacts').waitFor()
  await go(controller, `/channels/${PAYROLL}`)
  await controller.getByRole('heading', { level: 1, name: PAYROLL }).waitFor()
  assert.equal(await controller.locator('.actions button').count(), 0)
  // Nor is advised what a role cannot do.
  await go(controller, '/channels/BANCO-ACME-ADEUDO')
  await adviceOf(controller).getByText('Somebody who may change it can switch it on.').waitFor()
})

test(
  'at 320 wide no word is cut, and a review says what was before and what comes after',
  { skip },
  async () => {
    const { open, faults } = scene()
    const fits = async (page: Page, username: string, word: string) => {
      await signIn(page, username)
      // Of one word, which a second line would break.
      const label = page.locator('.tile-label', { hasText: word })
      assert.equal(await label.evaluate((element) => Math.round(element.clientHeight / 16.25)), 1)
    }
    const spanish = await open({ width: 320 })
    await fits(spanish, 'pablo', 'Transfiriendo')
    await spanish.context().close()
    const page = await open({ width: 320 })
    await fits(page, 'marta', 'Transferring')
    await go(page, `/channels/${PAYROLL}/configuration`)
    const tabs = page.getByRole('tablist')
    await tabs.waitFor()
    assert.ok(await tabs.evaluate((list) => list.scrollWidth <= list.clientWidth))
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Narrow')
    await page.getByRole('button', { name: 'Review changes' }).click()
    const row = page.getByRole('dialog').getByRole('row').filter({ hasText: 'Narrow' })
    const saysBefore = (cell: Element) => getComputedStyle(cell, '::before').content
    assert.match(await row.getByRole('cell').nth(1).evaluate(saysBefore), /Before/)
    assert.match(await row.getByRole('cell').nth(2).evaluate(saysBefore), /After/)
    assert.deepEqual(faults, [])
    await page.context().close()
  },
)

// The last one: it stops the node.
test(
  'the language is the user’s own and can be switched; a node that is gone is told of',
  { skip },
  async () => {
    const { as, open, node } = scene()
    const page = await as('pablo')
    await page.getByRole('heading', { level: 1, name: 'Resumen' }).waitFor()
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'es')
    await page.locator('aside, nav').getByText('English').click()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'en')
    await page.getByText(/^Times are in /).waitFor()

    // The same page, and a controller on a phone whom no stream tells anything, when the node is gone.
    const phone = await open({ width: 390 })
    await signIn(phone, 'vera')
    await phone.locator('.tiles').waitFor()
    await phone.context().setOffline(true)
    const bar = phone
      .getByRole('alert')
      .filter({ hasText: /^Not connected since \d\d:\d\d: these figures are old$/ })
    await bar.waitFor()
    await phone.context().setOffline(false)
    await bar.waitFor({ state: 'detached' })
    await phone.getByRole('button', { name: 'Menu' }).click()
    await phone.getByText('Español').click()
    await phone.getByRole('heading', { level: 1, name: 'Resumen' }).waitFor()
    await node.stop()
    await page.getByText(/^Not connected since \d\d:\d\d: these figures are old$/).waitFor()
    await phone.getByText(/^Sin conexión desde \d\d:\d\d: estas cifras son antiguas$/).waitFor()
    await requireFits(phone)
  },
)
