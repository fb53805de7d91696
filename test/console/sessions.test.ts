// The session over several tabs of one browser, and over its end, in a real browser.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { go, sharedScene, signIn, whyNot } from './browser.ts'
import { PAYROLL } from './platform.ts'

const skip = whyNot() ?? false
const scene = sharedScene()

/** Another tab of the same browser. */
async function tabBeside(page: Page): Promise<Page> {
  const tab = await page.context().newPage()
  await tab.goto(page.url())
  return tab
}

test('a tab never acts with the session of another user', { skip }, async () => {
  const { open, node, faults } = scene()
  const mine = await open()
  const theirs = await tabBeside(mine)
  await theirs.locator('input[name=username]').waitFor()
  await signIn(mine, 'pablo')
  await mine.locator('.tiles').waitFor()
  await go(mine, `/channels/${PAYROLL}`)
  const send = mine.getByRole('button', { name: 'Enviar ficheros' })
  await send.click()
  const dialog = mine.getByRole('dialog')
  await dialog.waitFor()

  // Even a tab that hears of nothing is refused.
  await mine
    .context()
    .route('**/platform/v1/session', (route) =>
      route.request().method() === 'GET' ? route.abort() : route.continue(),
    )
  await signIn(theirs, 'marta')
  await theirs.locator('.tiles').waitFor()
  const answered = mine.waitForResponse((answer) => answer.url().endsWith('/transfers/send'))
  await dialog.getByRole('button').last().click()
  assert.equal((await answered).status(), 401)
  const sent = () =>
    node.store.db.selectFrom('audit').selectAll().where('action', '=', 'TRANSFER_SENT').execute()
  assert.deepEqual(await sent(), [])
  await mine.context().unroute('**/platform/v1/session')

  // One that hears of it says who is there, and goes on as that user only when told to.
  await theirs.evaluate(() => new BroadcastChannel('esclusa-session').postMessage('changed'))
  await mine.getByText('marta ha iniciado sesión en otra pestaña').waitFor()
  await send.waitFor({ state: 'hidden' })
  await mine.getByRole('button', { name: 'Seguir como marta' }).click()
  await mine.getByRole('link', { name: 'Marta Solís' }).waitFor()

  // The other way round it is told by itself; whoever was here signs in and goes on.
  await signInAgain(theirs, 'pablo')
  await mine.getByText('pablo has signed in in another tab').waitFor()
  await signIn(mine, 'marta')
  await mine.getByRole('link', { name: 'Marta Solís' }).waitFor()
  await theirs.getByText('marta ha iniciado sesión en otra pestaña').waitFor()
  assert.deepEqual(faults, [])
  await mine.context().close()
})

test('signing out in one tab is seen in the others, and signing in again too', { skip }, async () => {
  const { open } = scene()
  const first = await open()
  await signIn(first, 'marta')
  await first.locator('.tiles').waitFor()
  const second = await tabBeside(first)
  await second.locator('.tiles').waitFor()
  await first.getByRole('button', { name: 'Sign out' }).click()
  await second.getByText('Your session has ended.').waitFor()
  await signIn(first, 'marta')
  await second.locator('.tiles').waitFor()
  await second.locator('.sign-in').waitFor({ state: 'detached' })
  await first.context().close()
})

async function signInAgain(page: Page, username: string): Promise<void> {
  await page.locator('.who button').click()
  await signIn(page, username)
  await page.locator('.who').waitFor()
}
