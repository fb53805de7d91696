// Pictures of the console's main pages, light and dark, from a node that runs (the demo, say), into docs/screenshots.
//
//   node tools/screenshots.ts http://127.0.0.1:8080 <username> <password> [folder]
//
// The pages are opened as an operator would: sign in once, then by the navigation, because a reload ends the session.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'
import { createClient } from '../sdk/index.ts'

const BROWSER = '/usr/bin/chromium'
const DESKTOP = { width: 1280, height: 860 }
const PHONE = { width: 390, height: 844 }

/** What looks the same but for its colours as another page. */
const LIGHT_ONLY = new Set(['sign-in', 'history', 'edit'])

/** Of the demo, if it is one: a channel whose one big file takes a while, and one with files that are moved aside. */
const BIG = 'CUSTODIA-DEPOSITO-ARCHIVO'
const PAYROLL = 'BANCO-ACME-NOMINA'

type Scheme = 'light' | 'dark'
type Login = { url: string; username: string; password: string }

const [url, username, password, into] = process.argv.slice(2)
if (!url || !username || !password) {
  console.error('usage: node tools/screenshots.ts <url> <username> <password> [folder]')
  process.exit(2)
}
const folder = into ?? fileURLToPath(new URL('../docs/screenshots/', import.meta.url))
mkdirSync(folder, { recursive: true })
const browser = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox'] })
try {
  for (const scheme of ['light', 'dark'] as const)
    await shootAll(browser, scheme, { url, username, password })
  await shootPhone(browser, { url, username, password })
} finally {
  await browser.close()
}

async function open(
  browser: Browser,
  scheme: Scheme,
  viewport: { width: number; height: number },
  login: Login,
) {
  const context = await browser.newContext({ viewport, colorScheme: scheme, locale: 'en-GB' })
  const page = await context.newPage()
  page.on('console', (message) => message.type() === 'error' && console.error(`page: ${message.text()}`))
  await page.goto(`${login.url}/console/`)
  return page
}

async function signIn(page: Page, login: Login): Promise<void> {
  await page.locator('input[name=username]').fill(login.username)
  await page.locator('input[name=password]').fill(login.password)
  await page.locator('button[type=submit]').click()
  await page.locator('.tiles').waitFor()
}

/** Bars that move and files that arrived tell more than a quiet node. What is under way is let end first. */
async function send({ url, username, password }: Login, channelCode: string): Promise<void> {
  const client = createClient({ url, credentials: { username, password } })
  try {
    while ((await client.channelStatus({ channelCode }))[0]?.['channel-status'] === 'IN_PROGRESS')
      await new Promise((done) => setTimeout(done, 200))
    await client.sendTransfer({ channelCode })
  } catch (thrown) {
    console.error(`nothing is sent: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
  }
}

/** A quarter of the way at least; a node that has nothing to send is taken as it is. */
async function somethingMoves(page: Page): Promise<void> {
  const bars = () =>
    [...document.querySelectorAll('[role=progressbar]')].some(
      (bar) => Number(bar.getAttribute('aria-valuenow')) > 25,
    )
  await page.waitForFunction(bars, null, { timeout: 20_000 }).catch(() => console.error('nothing moves'))
}

async function shootAll(browser: Browser, scheme: Scheme, login: Login): Promise<void> {
  const page = await open(browser, scheme, DESKTOP, login)
  const shoot = async (name: string) => {
    if (scheme === 'light' || !LIGHT_ONLY.has(name)) await save(page, `${name}-${scheme}`)
  }
  await page.locator('form').waitFor()
  await shoot('sign-in')
  await send(login, PAYROLL)
  await send(login, BIG)
  await signIn(page, login)
  await somethingMoves(page)
  await shoot('overview')
  await page.locator('nav a[href$="/failures"]').click()
  await page.locator('.failure').first().waitFor()
  await shoot('failures')
  await page.locator('nav a[href$="/contacts"]').click()
  await page.locator('article').first().waitFor()
  await shoot('contacts')
  await page.locator('nav a[href$="/channels"]').click()
  await page.locator('tbody tr').first().waitFor()
  await shoot('channels')
  await page.locator('select').first().selectOption('ERROR')
  await page.locator('tbody a').first().click()
  await page.locator('.last-failure p').nth(2).waitFor()
  await shoot('channel')
  await page.locator('[role=tab]').nth(2).click()
  await page.locator('.mantine-Timeline-item').first().waitFor()
  await shoot('history')
  await page.locator('[role=tab]').nth(3).click()
  await page.locator('.config').first().waitFor()
  await shoot('configuration')
  await page.locator('[role=tabpanel] button').first().click()
  await page.locator('.save-bar').waitFor()
  await shoot('edit')
  await page.locator('nav a[href$="/channels"]').click()
  await page.locator('.filters input').first().fill(PAYROLL)
  await page.locator('tbody tr').nth(1).waitFor({ state: 'hidden' })
  await page.locator('tbody a').first().click()
  await page.locator('[role=tab]').nth(1).click()
  await page.locator('tbody a').first().click()
  await page.locator('.hash, .notice').first().waitFor()
  await shoot('transfer')
  await page.context().close()
}

async function shootPhone(browser: Browser, login: Login): Promise<void> {
  const page = await open(browser, 'light', PHONE, login)
  await send(login, BIG)
  await signIn(page, login)
  await somethingMoves(page)
  await save(page, 'phone-overview')
  await page.locator('.tile').first().click()
  await page.locator('tbody tr').first().waitFor()
  await save(page, 'phone-channels')
  await page.locator('tbody a').first().click()
  await page.locator('.last-failure p').nth(2).waitFor()
  await save(page, 'phone-channel')
  await page.context().close()
}

async function save(page: Page, name: string): Promise<void> {
  await page.evaluate(() => document.fonts.ready.then(() => undefined))
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' })
}
