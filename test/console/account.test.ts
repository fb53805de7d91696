// One's own account and the first run, in a real browser.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pressIn } from './admin-forms.ts'
import { axeViolations, emptyScene, go, setScene, signIn, whyNot } from './browser.ts'
import { PASSWORD } from './platform.ts'

const skip = whyNot() ?? false
const NEXT = 'another long password'

test(
  'a user changes their password and language, ends another session and signs out everywhere',
  { skip },
  async (t) => {
    const { open, faults } = await setScene(t)
    const elsewhere = await open()
    await signIn(elsewhere, 'marta')
    await elsewhere.locator('.tiles').waitFor()
    const page = await open()
    await signIn(page, 'marta')
    await page.locator('.tiles').waitFor()
    await page.getByRole('link', { name: 'Marta Solís' }).click()
    await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor()
    const rows = page.getByRole('table').locator('tbody tr')
    await rows.nth(1).waitFor()
    assert.deepEqual(await axeViolations(page), [])
    await page.getByRole('button', { name: /End it: the session from/ }).press('Enter')
    await page.getByText('The session was ended').waitFor()
    await rows.nth(1).waitFor({ state: 'detached' })
    await go(elsewhere, '/channels')
    await elsewhere.getByText('Your session has ended.').waitFor()

    await page.getByLabel('Current password').fill('wrong')
    await page.getByLabel('New password', { exact: true }).fill(NEXT)
    await page.getByLabel('The new password again').fill(NEXT)
    await page.getByRole('button', { name: 'Change the password' }).press('Enter')
    await page.getByRole('alert').getByText('The current password is not right.').waitFor()
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Change the password' }).press('Enter')
    await page.getByText('The password was changed').waitFor()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor()

    await page.getByRole('combobox', { name: 'Language' }).selectOption('es')
    await page.getByRole('heading', { level: 1, name: 'Su cuenta' }).waitFor()
    await page.getByText('Su idioma se ha guardado').waitFor()
    await page.getByRole('button', { name: 'Cerrar la sesión en todas partes' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: '¿Cerrar la sesión en todas partes?' })
    await pressIn(dialog, 'Cerrar la sesión en todas partes')
    await page.getByRole('heading', { level: 1, name: 'Iniciar sesión' }).waitFor()
    await signIn(page, 'marta', NEXT)
    await page.getByRole('heading', { level: 1, name: 'Su cuenta' }).waitFor()
    assert.deepEqual(faults, [])
  },
)

test('an empty node asks for its first administrator, then shows first steps', { skip }, async (t) => {
  const { open, node, faults } = await emptyScene(t)
  const page = await open()
  await page.getByRole('heading', { name: 'Welcome: choose the first administrator' }).waitFor()
  assert.deepEqual(await axeViolations(page), [])
  const fill = async (code: string) => {
    await page.getByLabel('One-time code').fill(code)
    await page.getByLabel('Username').fill('eva')
    await page.getByLabel('E-mail').fill('eva@banco.example')
    await page.getByLabel('Password', { exact: true }).fill(NEXT)
    await page.getByLabel('The new password again').fill(NEXT)
    await page.getByRole('button', { name: 'Begin' }).press('Enter')
  }
  await fill('AAAA-BBBB-CCCC-DDDD')
  await page.getByRole('alert').getByText('The code is not the one').waitFor()
  await fill(node.firstAdmin?.code ?? '')
  await page.getByRole('heading', { level: 2, name: 'First steps' }).waitFor()
  assert.deepEqual(await axeViolations(page), [])
  await page.reload()
  await page.getByRole('heading', { level: 2, name: 'First steps' }).waitFor()
  assert.deepEqual(faults, [])
})
