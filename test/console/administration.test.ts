// Administration in a real browser: things made, changed and removed, by keyboard alone where something is decided.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '../../sdk/index.ts'
import { findChannel } from '../../src/store/channels.ts'
import { waitFor } from '../support/harness.ts'
import { fill, press, pressIn, save } from './admin-forms.ts'
import { axeViolations, go, sharedScene, whyNot } from './browser.ts'
import { PASSWORD } from './platform.ts'

const skip = whyNot() ?? false
const scene = sharedScene()
const LONG = 'x'.repeat(60)

test(
  'a user is made, changed beside somebody else, and removed; the plan is shown before',
  { skip },
  async () => {
    const { as, node, faults } = scene()
    const page = await as('marta')
    await page.getByRole('link', { name: 'Users', exact: true }).click()
    await page.getByRole('link', { name: 'New user' }).click()
    await page.getByRole('heading', { level: 1, name: 'New user' }).waitFor()
    assert.deepEqual(await axeViolations(page), [])
    await fill(page, { Username: LONG })
    await press(page, 'Review changes')
    await page.getByText('This is needed.').first().waitFor()
    await fill(page, { 'E-mail': 'luis@banco.example', Role: 'ROLE_OPERATOR', 'New password': 'short' })
    await press(page, 'Review changes')
    await page.getByText(/at least 12 characters/).waitFor()
    await fill(page, { 'New password': 'a long enough password' })
    await save(page, `+ user ${LONG}`)
    await page.getByRole('link', { name: LONG }).click()
    await fill(page, { 'Last name': 'Mine' })
    const client = createClient({ url: node.url, credentials: { username: 'marta', password: PASSWORD } })
    const { login: _login, username: _name, ...fields } = await client.platform.readUser({ username: LONG })
    await client.platform.changeUser({ username: LONG, body: { ...fields, name: 'Theirs' } })
    await press(page, 'Review changes')
    const alert = page.getByRole('alert')
    await alert.getByText('Somebody else has changed it meanwhile').waitFor()
    await alert.getByText('Theirs', { exact: true }).waitFor()
    assert.deepEqual(await axeViolations(page), [])
    await press(page, 'Go on with mine')
    await save(page, `~ user ${LONG}`)
    const both = await client.platform.readUser({ username: LONG })
    assert.deepEqual([both.name, both.lastName], ['Theirs', 'Mine'])
    await press(page, `Remove: ${LONG}`)
    await pressIn(page.getByRole('dialog'), 'Remove')
    await page.getByText(`${LONG} was removed`).waitFor()
    await page.getByRole('link', { name: LONG }).waitFor({ state: 'detached' })
    assert.deepEqual(faults, [])
  },
)

test(
  'a partner and a channel are made from nothing, copied and removed, and the audit trail tells it',
  { skip },
  async () => {
    const { as, node, faults } = scene()
    const page = await as('marta')
    await go(page, '/entities/new')
    await fill(page, { Code: 'SEDE', Name: 'Sede central' })
    await save(page, '+ local entity SEDE')
    await go(page, '/partners/new')
    await page.getByRole('heading', { level: 1, name: 'New partner' }).waitFor()
    await fill(page, { Identifier: 'gamma', Name: 'Gamma SL', Protocol: 'sftp' })
    await press(page, 'Add: Remote codes')
    await page.getByRole('group', { name: 'Remote codes' }).getByLabel('Code').fill('GAMMA')
    const calling = page.getByRole('region', { name: 'SFTP: we call the partner' })
    await calling.getByLabel('Username').fill('banco')
    await calling.getByLabel('Fingerprints of the host key').fill('not a fingerprint')
    assert.deepEqual(await axeViolations(page), [])
    await press(page, 'Review changes')
    await calling.locator('.mantine-InputWrapper-error').first().waitFor()
    await calling.getByLabel('Fingerprints of the host key').fill(`SHA256:${'A'.repeat(43)}`)
    await calling.getByRole('textbox', { name: 'Password', exact: true }).fill('their password')
    await save(page, '+ contact gamma')
    await page.getByRole('link', { name: 'gamma' }).waitFor()
    await go(page, '/channels/new')
    await page.getByRole('option', { name: /SEDE/ }).waitFor({ state: 'attached' })
    await fill(page, {
      'Local entity': 'SEDE',
      Partner: 'gamma',
      'Remote code': 'GAMMA',
      Application: 'PAGOS',
    })
    await fill(page, { Direction: 'EMISION', 'Where files to send are taken from': '/etc' })
    assert.deepEqual(await axeViolations(page), [])
    await press(page, 'Review changes')
    await page
      .getByRole('alert')
      .getByText(/ESCLUSA_FILE_ROOTS/)
      .waitFor()
    await fill(page, { 'Where files to send are taken from': join(node.files, 'pagos') })
    await fill(page, { 'By itself': 'every' })
    await save(page, '+ channel SEDE-GAMMA-PAGOS')
    await page.getByRole('heading', { level: 1, name: 'SEDE-GAMMA-PAGOS' }).waitFor()
    const kept = page.getByRole('region', { name: 'Kept and opened' })
    await kept.getByLabel('Days that transfers are kept').fill('many')
    // What was refused is corrected and saved before the page has been read anew.
    const reads = '**/platform/v1/channels/SEDE-GAMMA-PAGOS'
    const saved = Promise.withResolvers<void>()
    await page.route(reads, async (route) => {
      if (route.request().method() === 'GET') await saved.promise
      return route.continue()
    })
    await kept.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByText(/transfersDays/).waitFor()
    await kept.getByLabel('Days that transfers are kept').fill('90')
    await kept.getByLabel('Megabytes that a received file').fill('12')
    await kept.getByRole('button', { name: 'Save' }).press('Enter')
    const isKept = async () => {
      const { keep, maxOpenedMegabytes } = (await findChannel(node.store.db, 'SEDE-GAMMA-PAGOS')) ?? {}
      return keep?.transfersDays === 90 && maxOpenedMegabytes === 12
    }
    await waitFor('it is saved', isKept, 60_000)
    saved.resolve()
    await page.getByRole('tab', { name: 'Summary' }).press('Enter')
    await page.getByText('Every so often: 5m').waitFor()
    await page.getByRole('link', { name: 'Copy' }).press('Enter')
    await page.getByRole('option', { name: /SEDE/ }).waitFor({ state: 'attached' })
    await fill(page, {
      'Local entity': 'SEDE',
      Partner: 'gamma',
      'Remote code': 'GAMMA',
      Application: 'COPIA',
    })
    await save(page, '+ channel SEDE-GAMMA-COPIA')
    await page.getByRole('heading', { level: 1, name: 'SEDE-GAMMA-COPIA' }).waitFor()
    await press(page, 'Remove')
    await pressIn(page.getByRole('dialog'), 'Remove')
    await page.getByText('SEDE-GAMMA-COPIA was removed').waitFor()
    await go(page, '/audit?user=marta')
    for (const action of ['Partner made', 'Channel made', 'Channel removed', 'Local entity made'])
      await page.locator('tbody tr').filter({ hasText: action }).first().waitFor()
    assert.equal(await page.getByText('their password').count(), 0)
    await press(page, 'Check whether it is whole')
    await page.getByText(/The trail is whole/).waitFor()
    assert.deepEqual(await axeViolations(page), [])
    assert.deepEqual(faults, [])
  },
)
