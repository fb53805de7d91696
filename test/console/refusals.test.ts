// What the console says when something was not done, or when nobody knows whether it was.

import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { createClient } from '../../sdk/index.ts'
import { waitFor } from '../support/harness.ts'
import { fill, press, pressIn, save } from './admin-forms.ts'
import { axeViolations, go, sharedScene, whyNot } from './browser.ts'
import { PASSWORD, PAYROLL } from './platform.ts'

const skip = whyNot() ?? false
const scene = sharedScene()
const MAY_BE_DONE = 'No answer came. It may have been done all the same: look before you repeat it.'

/** The node does it, and its answer never arrives. */
const loseAnswer = (page: Page, path: string, method: string) =>
  page.route(path, async (route: Route) => {
    if (route.request().method() !== method || route.request().url().includes('dryRun=true'))
      return route.continue()
    await route.fetch()
    return route.abort('connectionreset')
  })

test('a send whose answer is lost is not said to have been refused', { skip }, async () => {
  const { as, node, faults } = scene()
  await writeFile(join(node.files, 'payroll/out/nomina.txt'), 'hola')
  const page = await as('marta')
  await go(page, `/channels/${PAYROLL}`)
  const send = async () => {
    await page.getByRole('button', { name: 'Send files' }).press('Enter')
    await pressIn(page.getByRole('dialog'), 'Send files')
  }
  const told = page.locator('.mantine-Notification-root')
  await loseAnswer(page, '**/transfers/send', 'POST')
  await send()
  await told.getByText(MAY_BE_DONE).waitFor()
  await told.getByText('The node cannot be reached, or it did not answer in time.').waitFor()
  assert.equal(await page.getByText('Failed to fetch').count(), 0)
  await told.getByRole('button', { name: 'Close' }).press('Enter')
  await told.waitFor({ state: 'detached' })
  await page.unroute('**/transfers/send')
  // A proxy on the way that has lost the node.
  await page.route('**/transfers/send', (route) =>
    route.fulfill({ status: 502, body: '<h1>Bad Gateway</h1>' }),
  )
  await send()
  await told.getByText(MAY_BE_DONE).waitFor()
  await told.getByText('Something between this browser and the node answered 502.').waitFor()
  await told.getByRole('button', { name: 'Close' }).press('Enter')
  await told.waitFor({ state: 'detached' })
  await page.unroute('**/transfers/send')
  // The node itself says no.
  const isSent = async () => (await readdir(join(node.files, 'payroll/out'))).length === 0
  await waitFor('the file is sent', isSent, 60_000)
  await send()
  await told.getByText('The node did not do it').waitFor()
  assert.equal(await page.getByText(MAY_BE_DONE).count(), 0)
  const button = page.locator('.actions').getByRole('button', { name: 'Send files' })
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.ok(await button.evaluate((element) => element === document.activeElement))
  await told.getByRole('button', { name: 'Close' }).press('Enter')
  assert.deepEqual(faults, [])
})

test('a form whose save got no answer does not say that nothing was changed', { skip }, async () => {
  const { as, faults } = scene()
  const page = await as('marta')
  const nothing = page.getByText(/nothing was changed/)
  await go(page, '/entities/new')
  await fill(page, { Code: 'LOST', Name: 'Lost' })
  await page.route('**/local-entities*', (route) => route.abort('connectionreset'))
  await press(page, 'Review changes')
  await page.getByRole('alert').getByText('No answer came; nothing was changed.').waitFor()
  await page.unroute('**/local-entities*')
  await loseAnswer(page, '**/local-entities*', 'POST')
  await save(page, '+ local entity LOST')
  await page.getByRole('alert').getByText(MAY_BE_DONE).waitFor()
  assert.equal(await nothing.count(), 0)
  assert.deepEqual(await axeViolations(page), [])
  await page.unroute('**/local-entities*')
  page.once('dialog', (dialog) => void dialog.accept())
  await press(page, 'Cancel')
  await page.getByRole('link', { name: 'LOST' }).waitFor()

  await go(page, '/platform-file')
  const file = page.getByRole('textbox', { name: 'The file' })
  await file.fill('localEntities:\n  - { code: LOST, name: Found }\n')
  await press(page, 'Show what would change')
  await page.getByText('~ local entity LOST').waitFor()
  await loseAnswer(page, '**/platform-file*', 'POST')
  await page.getByRole('button', { name: 'Apply', exact: true }).press('Enter')
  await page.getByRole('alert').getByText(MAY_BE_DONE).waitFor()
  assert.equal(await nothing.count(), 0)
  await page.unroute('**/platform-file*')
  await file.fill('')

  await go(page, `/channels/${PAYROLL}/configuration`)
  await press(page, 'Edit')
  await page.getByLabel('Name', { exact: true }).fill('Salaries')
  await loseAnswer(page, `**/channels/${PAYROLL}/update`, 'POST')
  await save(page, 'Salaries')
  await page.getByRole('alert').getByText(MAY_BE_DONE).waitFor()
  await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'alert')
  assert.equal(await nothing.count(), 0)
  await page.unroute(`**/channels/${PAYROLL}/update`)
  page.once('dialog', (dialog) => void dialog.accept())
  await press(page, 'Discard')
  assert.deepEqual(faults, [])
})

test(
  'what names no field is brought into view and is not counted as one; a name that is taken stands at its field',
  { skip },
  async () => {
    const { as, faults } = scene()
    const page = await as('marta')
    const bar = page.locator('.save-bar').getByRole('status')
    await go(page, '/partners/new')
    await fill(page, { Identifier: 'acme', Name: 'Another' })
    await press(page, 'Review changes')
    const identifier = page.getByRole('textbox', { name: 'Identifier' })
    await page.getByText('contact acme exists already').waitFor()
    assert.equal(await identifier.getAttribute('aria-invalid'), 'true')
    assert.ok(await identifier.evaluate((element) => element === document.activeElement))
    assert.equal(await bar.innerText(), 'One field needs attention.')
    await fill(page, { Identifier: 'another' })
    await press(page, 'Add: Remote codes')
    await page.getByRole('group', { name: 'Remote codes' }).getByLabel('Code').fill('ACME')
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
    await press(page, 'Review changes')
    const notice = page.getByRole('alert').filter({ hasText: /remote code ACME is one of/ })
    await notice.waitFor()
    assert.ok(await notice.evaluate((element) => element === document.activeElement))
    assert.ok(await notice.evaluate((element) => element.getBoundingClientRect().top >= 0))
    assert.equal(await bar.innerText(), '')
    assert.deepEqual(await axeViolations(page), [])
    page.once('dialog', (dialog) => void dialog.accept())
    await press(page, 'Cancel')
    assert.deepEqual(faults, [])
  },
)

test('a double click saves once, and goes one step on', { skip }, async () => {
  const { as, faults } = scene()
  const page = await as('marta')
  let sent = 0
  page.on('request', (request) => {
    if (request.url().includes('dryRun=false')) sent++
  })
  await go(page, '/entities/new')
  await fill(page, { Code: 'TWICE', Name: 'Twice' })
  await page.getByRole('button', { name: 'Review changes' }).dblclick()
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).dblclick()
  await page.getByText('TWICE was saved').waitFor()
  await page.locator('tbody tr').filter({ hasText: 'TWICE' }).waitFor()
  assert.equal(sent, 1)
  await go(page, '/partners/step-by-step')
  await fill(page, { Identifier: 'twice', 'Remote code': 'TWICE' })
  await page.getByLabel('Protocol').selectOption('folder')
  await press(page, 'Next')
  await fill(page, { 'Where our files go': '/in', 'Where we fetch from': '/out' })
  // Nothing is asked for in the step after this one, which would let a second click through.
  await page.getByRole('button', { name: 'Next' }).dblclick()
  await page.getByText('A folder needs no keys.').waitFor()
  assert.deepEqual(faults, [])
})

test('saving what somebody else has removed says so', { skip }, async () => {
  const { as, node, faults } = scene()
  const client = createClient({ url: node.url, credentials: { username: 'marta', password: PASSWORD } })
  const page = await as('marta')
  const gone = page
    .getByRole('alert')
    .filter({ hasText: 'Somebody else has removed it meanwhile; nothing was saved.' })
  await client.platform.createEntity({ body: { code: 'BRIEF', name: 'Brief' } })
  await go(page, '/entities/edit/BRIEF')
  await fill(page, { Name: 'Mine' })
  await client.platform.removeEntity({ code: 'BRIEF' })
  await press(page, 'Review changes')
  await gone.getByText(/BRIEF does not exist/).waitFor()
  assert.ok(await gone.evaluate((element) => element === document.activeElement))
  page.once('dialog', (dialog) => void dialog.accept())
  await press(page, 'Cancel')

  const code = 'BANCO-ACME-BREVE'
  await client.platform.copyChannel({ channelCode: PAYROLL, body: { code, contact: 'acme' } })
  await go(page, `/channels/${code}/configuration`)
  await press(page, 'Edit')
  await page.getByLabel('Name', { exact: true }).fill('Brief')
  await press(page, 'Review changes')
  // The page is not told of the removal before it saves.
  await page.route('**/platform/v1/**', (route) => route.abort())
  await client.platform.removeChannel({ channelCode: code })
  await pressIn(page.getByRole('dialog'), 'Save')
  await gone.waitFor()
  await page.unroute('**/platform/v1/**')
  page.once('dialog', (dialog) => void dialog.accept())
  await press(page, 'Discard')
  assert.deepEqual(faults, [])
})

test(
  'steps to a partner that are refused half way say what was made, and make the rest',
  { skip },
  async () => {
    const { as, node, faults } = scene()
    const page = await as('marta')
    await go(page, '/partners/step-by-step')
    await fill(page, { Identifier: 'omega', 'Remote code': 'OMEGA' })
    await press(page, 'Next')
    // Whoever goes on by keyboard is in the next step.
    const address = page.getByRole('textbox', { name: 'Address' })
    await address.waitFor()
    assert.ok(await address.evaluate((element) => element === document.activeElement))
    await fill(page, { Address: '127.0.0.1' })
    await press(page, 'Next')
    await fill(page, { 'Our password': 'OURPASS' })
    await page.getByLabel('Make a key of our own for the channel').uncheck()
    await press(page, 'Next')
    await page.getByRole('option', { name: 'BANCO-ACME-ADEUDO' }).waitFor({ state: 'attached' })
    await page.getByLabel('Local entity').selectOption('BANCO')
    await page.getByLabel('Configured like').selectOption('BANCO-ACME-ADEUDO')
    // No application is called so: the node says it when the partner is made.
    await fill(page, { Application: 'NUE-VA' })
    await save(page, '+ channel BANCO-OMEGA-NUE-VA')
    const alert = page.getByRole('alert')
    await alert.getByText('What was made before stays.').waitFor()
    await alert.getByText('+ contact omega').waitFor()
    assert.equal(await page.getByText(/nothing was changed/).count(), 0)
    assert.deepEqual(await axeViolations(page), [])
    await fill(page, { Application: 'NUEVA' })
    await press(page, 'Review changes')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('+ channel BANCO-OMEGA-NUEVA').waitFor()
    assert.equal(await dialog.getByText('contact omega').count(), 0)
    // Its answer is lost with the keys: the channel that was copied is not copied again.
    await page.route('**/update', (route) => route.abort('connectionreset'))
    await pressIn(dialog, 'Save')
    await alert.getByText(MAY_BE_DONE).waitFor()
    await alert.getByText('+ channel BANCO-OMEGA-NUEVA').waitFor()
    await page.unroute('**/update')
    await save(page, '~ channel BANCO-OMEGA-NUEVA (authentication, localKey)')
    await page.getByText('omega and channel BANCO-OMEGA-NUEVA are made.').waitFor()
    const made = await node.store.db
      .selectFrom('channel')
      .select('contact_id')
      .where('code', '=', 'BANCO-OMEGA-NUEVA')
      .executeTakeFirstOrThrow()
    assert.equal(made.contact_id, 'omega')
    assert.deepEqual(faults, [])
  },
)

test(
  'steps to a partner whose answers are lost are not done twice, and come to their end',
  { skip },
  async () => {
    const { as, node, faults } = scene()
    const page = await as('marta')
    const alert = page.getByRole('alert')
    const dialog = page.getByRole('dialog')
    const stepsTo = async (id: string, like?: string) => {
      await go(page, '/partners/step-by-step')
      await fill(page, { Identifier: id, 'Remote code': id.toUpperCase() })
      await press(page, 'Next')
      await fill(page, { Address: '127.0.0.1' })
      await press(page, 'Next')
      if (like === undefined) await page.getByLabel('Make a key of our own for the channel').uncheck()
      await press(page, 'Next')
      await page.getByRole('option', { name: 'BANCO-ACME-ADEUDO' }).waitFor({ state: 'attached' })
      await page.getByLabel('Local entity').selectOption('BANCO')
      if (like !== undefined) await page.getByLabel('Configured like').selectOption(like)
      await fill(page, { Application: 'PRUEBA' })
    }
    await stepsTo('sigma', 'BANCO-ACME-ADEUDO')
    await loseAnswer(page, '**/copy', 'POST')
    await save(page, '+ channel BANCO-SIGMA-PRUEBA')
    await alert.getByText(MAY_BE_DONE).waitFor()
    await page.unroute('**/copy')
    await loseAnswer(page, '**/keys/local', 'POST')
    await press(page, 'Review changes')
    await dialog.getByText('~ channel BANCO-SIGMA-PRUEBA (rsaLocalKey)').waitFor()
    assert.equal(await dialog.getByText('+ channel').count(), 0)
    await pressIn(dialog, 'Save')
    await alert.getByText(MAY_BE_DONE).waitFor()
    await page.unroute('**/keys/local')
    // Nothing is left: the certificate is there for the partner.
    await press(page, 'Review changes')
    await page.getByText('sigma and channel BANCO-SIGMA-PRUEBA are made.').waitFor()
    const shown = page.getByLabel('Give it to the partner; compare the fingerprints over another line.')
    assert.match(await shown.inputValue(), /BEGIN CERTIFICATE/)
    const made = await node.store.db
      .selectFrom('audit')
      .select('action')
      .where('channel_code', '=', 'BANCO-SIGMA-PRUEBA')
      .where('action', '=', 'KEY_GENERATED')
      .execute()
    assert.equal(made.length, 1)

    await go(page, '/')
    await stepsTo('tau')
    await loseAnswer(page, '**/platform-file*', 'POST')
    await save(page, '+ contact tau')
    await alert.getByText(MAY_BE_DONE).waitFor()
    await page.unroute('**/platform-file*')
    await press(page, 'Review changes')
    await page.getByText('tau and channel BANCO-TAU-PRUEBA are made.').waitFor()
    assert.deepEqual(faults, [])
  },
)
