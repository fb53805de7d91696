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

const BROWSER = '/usr/bin/chromium'
const DESKTOP = { width: 1280, height: 860 }
const PHONE = { width: 390, height: 844 }

/** What looks the same but for its colours as another page. */
const LIGHT_ONLY = new Set(['sign-in', 'history', 'edit'])

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

async function shootAll(browser: Browser, scheme: Scheme, login: Login): Promise<void> {
  const page = await open(browser, scheme, DESKTOP, login)
  const shoot = async (name: string) => {
    if (scheme === 'light' || !LIGHT_ONLY.has(name)) await save(page, `${name}-${scheme}`)
  }
  await page.locator('form').waitFor()
  await shoot('sign-in')
  await signIn(page, login)
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
  await page.locator('.advice').waitFor()
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
  await page.locator('[role=tab]').nth(1).click()
  await page.locator('tbody a').first().click()
  await page.locator('.hash, .notice').first().waitFor()
  await shoot('transfer')
  await page.context().close()
}

async function shootPhone(browser: Browser, login: Login): Promise<void> {
  const page = await open(browser, 'light', PHONE, login)
  await signIn(page, login)
  await save(page, 'phone-overview')
  await page.locator('.tile').first().click()
  await page.locator('tbody tr').first().waitFor()
  await save(page, 'phone-channels')
  await page.locator('tbody a').first().click()
  await page.locator('.advice').waitFor()
  await save(page, 'phone-channel')
  await page.context().close()
}

async function save(page: Page, name: string): Promise<void> {
  await page.evaluate(() => document.fonts.ready.then(() => undefined))
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' })
}
