// The session over several tabs of one browser, and over its end, in a real browser.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { accountsChanged } from '../../src/store/accounts.ts'
import { endSessionsOf, go, sharedScene, signIn, whyNot } from './browser.ts'
import { PASSWORD, PAYROLL } from './platform.ts'

const skip = whyNot() ?? false
const scene = sharedScene()

/** Another tab of the same browser. */
async function tabBeside(page: Page): Promise<Page> {
  const tab = await page.context().newPage()
  await tab.goto(page.url())
  return tab
}

/** Of a session that replaces none: a tab may hear that the one before it is over before the browser has the new cookie. */
async function newCookie(node: string, username: string) {
  const url = `${node}/connect-back/platform/v1/session`
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: PASSWORD }),
  })
  assert.equal(answer.status, 200)
  const [pair = '', ...rest] = (answer.headers.getSetCookie()[0] ?? '').split('; ')
  const [name = '', value = ''] = pair.split('=')
  const path = rest.find((part) => part.startsWith('Path='))?.slice('Path='.length)
  return { name, value, path, domain: new URL(node).hostname, httpOnly: true }
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

test('a tab goes on when another one has got a new session', { skip }, async () => {
  const { open, node } = scene()
  const first = await open()
  await signIn(first, 'vera')
  await first.locator('.who').waitFor()
  const second = await tabBeside(first)
  // Its own channel is shut, so that it hears of nothing.
  await second.addInitScript(() => {
    BroadcastChannel.prototype.addEventListener = () => {}
  })
  await second.clock.install()
  await second.reload()
  await second.locator('.who').waitFor()
  // A look names nobody.
  const looked = () =>
    second.waitForResponse(
      (answer) =>
        answer.url().endsWith('/platform/v1/session') && !('x-esclusa-user' in answer.request().headers()),
    )
  await first.context().addCookies([await newCookie(node.url, 'vera')])
  const atItsTime = looked()
  await second.clock.fastForward('12:00:01')
  assert.equal((await atItsTime).status(), 200)
  await second.getByRole('link', { name: 'Vera Lund' }).click()
  await second.getByRole('heading', { level: 1, name: 'Your account' }).waitFor()
  assert.equal(await second.locator('.sign-in').count(), 0)

  // And it looks when it is seen again.
  const whenSeen = looked()
  await second.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  assert.equal((await whenSeen).status(), 200)
  await endSessionsOf(node, 'vera')
  await second.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await second.getByText('Your session has ended.').waitFor()
  await first.context().close()
})

test('a reload while the node is away waits for it, and goes on signed in', { skip }, async () => {
  const { open } = scene()
  const page = await open()
  await signIn(page, 'vera')
  await page.locator('.who').waitFor()
  const EVERY = '**/connect-back/**'
  const answers: ((route: Route) => Promise<void>)[] = [
    (route) => route.abort(),
    (route) =>
      route.fulfill({ status: 503, json: { status: 503, error: 'x', message: 'the database is away' } }),
  ]
  for (const answer of answers) {
    await page.route(EVERY, answer)
    await page.reload()
    await page.getByRole('alert').getByText('The node does not answer').waitFor()
    assert.equal(await page.locator('input[name=username]').count(), 0)
    await page.unroute(EVERY)
    await page.getByRole('link', { name: 'Vera Lund' }).waitFor()
  }
  await page.context().close()
})

test('rights that were taken away are noticed while the page is open', { skip }, async () => {
  const { open, node } = scene()
  const page = await open()
  await signIn(page, 'pablo')
  await page.locator('.tiles').waitFor()
  const role = async (to: string) => {
    await node.store.db.updateTable('account').set({ role: to }).where('username', '=', 'pablo').execute()
    await node.store.write(accountsChanged)
  }
  await go(page, `/channels/${PAYROLL}`)
  await page.getByRole('button', { name: 'Enviar ficheros' }).click()
  // A stream that ends tells of it too; this page has none any more.
  await page.route('**/connect-back/events', () => {})
  await role('ROLE_CONTROLATOR')
  await page.getByRole('dialog').getByRole('button').last().click()
  await page.locator('.who').getByText('Controlador', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Enviar ficheros' }).waitFor({ state: 'detached' })
  await role('ROLE_OPERATOR')
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await page.getByRole('button', { name: 'Enviar ficheros' }).waitFor()
  await page.context().close()
})

test('an upload in a session that has ended brings the sign-in, and goes on after it', { skip }, async () => {
  const { open, node } = scene()
  const page = await open()
  await signIn(page, 'marta')
  await page.locator('.tiles').waitFor()
  await go(page, `/channels/${PAYROLL}`)
  await page.getByRole('button', { name: 'Upload and send' }).click()
  const dialog = page.getByRole('dialog')
  const file = { name: 'late.txt', mimeType: 'text/plain', buffer: Buffer.from('late') }
  await dialog.locator('input[type=file]').setInputFiles(file)
  // Nothing but the upload finds out.
  const EVERY = '**/connect-back/**'
  await page.route(EVERY, (route) =>
    route.request().method() === 'GET' && 'x-esclusa-user' in route.request().headers()
      ? route.abort()
      : route.continue(),
  )
  await endSessionsOf(node, 'marta')
  await dialog.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.getByText('Your session has ended.').waitFor()
  await page.unroute(EVERY)
  await signIn(page, 'marta')
  await dialog.waitFor()
  assert.equal(await dialog.getByRole('alert').count(), 0)
  await dialog.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.getByText('late.txt').first().waitFor()
  await page.context().close()
})

async function signInAgain(page: Page, username: string): Promise<void> {
  await page.locator('.who button').click()
  await signIn(page, username)
  await page.locator('.who').waitFor()
}
