// A real Chromium on a furnished node. Where the browser or the console's build is missing, the reason to skip says so;
// a build that is not there is made.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'
import { createClient } from '../../sdk/index.ts'
import type { Client } from '../../sdk/index.ts'
import { closeAfter, startTestNode, waitFor } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import type { RunningNode } from '../../src/main.ts'
import { listSessions, removeSessions } from '../../src/store/sessions.ts'
import { BROKEN, furnish, PASSWORD } from './platform.ts'

/** The one without windows first: with it these tests take a quarter less of the processor's time. */
const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path))
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Why the browser tests cannot run here; undefined when they can. */
export function whyNot(): string | undefined {
  if (!CHROMIUM) return 'SKIPPED: neither chromium-headless-shell nor chromium is in /usr/bin'
  if (existsSync(`${ROOT}console/dist/index.html`)) return undefined
  try {
    execFileSync('npm', ['run', 'build', '-w', '@esclusa/console'], { cwd: ROOT, stdio: 'pipe' })
    return undefined
  } catch {
    return 'SKIPPED: the console is not built, and `npm run build -w @esclusa/console` failed'
  }
}

export type OpenOptions = {
  colorScheme?: 'light' | 'dark'
  width?: number
  /** Of another node; the scene's own if left out. */
  url?: string
  /** Called before anything is loaded. */
  watch?: (page: Page) => void
}

export type Scene = {
  node: TestNode & RunningNode
  /** A page at the sign-in; what it must never do is noted in `faults`. */
  open(options?: OpenOptions): Promise<Page>
  /** A page at the overview of a user who has signed in: the same one each time, where the sign-in is not what is tested. */
  as(username: string): Promise<Page>
  faults: string[]
}

/** One scene for the tests of a file, which do not disturb each other in their order: most of what one costs is its scene. */
export function sharedScene(): () => Scene {
  const closers: (() => unknown)[] = []
  // Nothing else of a test is asked for.
  const owner = { after: (close: () => unknown) => void closers.push(close) } as unknown as TestContext
  let scene: Scene | undefined
  before(async () => {
    if (whyNot() === undefined) scene = await setScene(owner)
  })
  after(async () => {
    for (const close of closers) await close()
  })
  return () => scene ?? assert.fail('there is no scene')
}

export async function setScene(t: TestContext): Promise<Scene> {
  const scene = await emptyScene(t)
  await furnish(scene.node.context, scene.node.files)
  return scene
}

/** A node as it is after its first start. */
export async function emptyScene(t: TestContext, settings: Record<string, string> = {}): Promise<Scene> {
  const node = await startTestNode(t, { empty: true, settings })
  const faults: string[] = []
  const open = (options?: OpenOptions) => openPage(t, options?.url ?? node.url, faults, options)
  const pages = new Map<string, Page>()
  const as = async (username: string) => {
    const known = pages.get(username)
    const page = known ?? (await open())
    if (known) await go(page, '/')
    else await signIn(page, username)
    pages.set(username, page)
    await page.locator('.tiles').waitFor()
    return page
  }
  return { node, faults, open, as }
}

// The tests of a process share one browser, each with contexts of its own: starting one costs as much as a test. It ends
// with the process.
let browser: Promise<Browser> | undefined

async function openPage(
  t: TestContext,
  url: string,
  faults: string[],
  { colorScheme = 'light', width = 1280, watch }: OpenOptions = {},
): Promise<Page> {
  browser ??= chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox', '--disable-gpu'] })
  const context = await (
    await browser
  ).newContext({
    viewport: { width, height: 900 },
    colorScheme,
    locale: 'en-GB',
    // A dialog that is still fading in has no contrast to speak of.
    reducedMotion: 'reduce',
  })
  closeAfter(t, () => context.close())
  // A loaded machine is slow; nothing here is about speed.
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== url && !request.url().startsWith('data:'))
      faults.push(`a request left for ${request.url()}`)
  })
  page.on('pageerror', (error) => faults.push(`the page threw ${error.message}`))
  page.on('console', (message) => {
    if (/Content Security Policy/i.test(message.text())) faults.push(message.text())
  })
  watch?.(page)
  await page.goto(`${url}/console/`)
  return page
}

export async function signIn(page: Page, username: string, password = PASSWORD): Promise<void> {
  await page.locator('input[name=username]').fill(username)
  await page.locator('input[name=password]').fill(password)
  await page.locator('.sign-in button[type=submit]').click()
}

/** As the node does it when somebody signs out everywhere. */
export async function endSessionsOf({ store }: TestNode, username: string): Promise<void> {
  await store.write(async (tx) =>
    removeSessions(
      tx,
      (await listSessions(tx, username)).map(({ id }) => id),
    ),
  )
}

/** A real failure of the channel whose partner has no folders; with the client of who asked for it. */
export async function failBroken({ url, store }: TestNode): Promise<Client> {
  const client = createClient({ url, credentials: { username: 'marta', password: PASSWORD } })
  // The node's own history of the fault is not what this is about: the partner may be called at once.
  await store.write((tx) => tx.deleteFrom('partner_health').execute())
  await client.resetChannel({ channelCode: BROKEN })
  await client.sendTransfer({ channelCode: BROKEN })
  await waitFor('the transfer fails', async () => {
    const [status] = await client.channelStatus({ channelCode: BROKEN })
    return status?.['channel-status'] === 'ERROR'
  })
  return client
}

/** Its reason goes away. */
export async function mendBroken({ files }: TestNode): Promise<void> {
  for (const folder of ['inbox', 'outbox']) await mkdir(join(files, 'luz-gone', folder), { recursive: true })
}

/** Goes there without a reload. */
export async function go(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => history.pushState(null, '', to), `/console${path}`)
}

/** The layout is there at once; a slow machine may take a while to make it. */
const FIT_MS = 60_000

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Violation = { id: string; nodes: { html: string; failureSummary?: string }[] }

type Axe = { run(options: object): Promise<{ violations: Violation[] }> }

/** Every rule axe has, or those about colours alone. One line per violation. */
export async function axeViolations(page: Page, onlyColours = false): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  const { violations } = await page.evaluate(
    (rules) =>
      // Put there by the line above.
      (globalThis as unknown as { axe: Axe }).axe.run({
        resultTypes: ['violations'],
        // WCAG 2.2: off unless asked for.
        ...(rules ? { runOnly: rules } : { rules: { 'target-size': { enabled: true } } }),
      }),
    onlyColours ? ['color-contrast', 'link-in-text-block'] : undefined,
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) =>
        `${id}: ${html.slice(0, 160)} — ${failureSummary?.replaceAll(/\s+/g, ' ')}`,
    ),
  )
}

/** Nothing sticks out sideways; if something does, says what. The page may still be laying itself out. */
export async function requireFits(page: Page, width?: number, where = page.url()): Promise<void> {
  if (width !== undefined) await page.setViewportSize({ width, height: 900 })
  await page
    .waitForFunction(
      // What stands fast, such as the menu, does not make the page wider.
      () =>
        document.documentElement.scrollWidth <= innerWidth &&
        [...document.querySelectorAll('nav')].every((menu) => menu.scrollWidth <= menu.clientWidth),
      undefined,
      { timeout: FIT_MS },
    )
    .catch(async () => {
      const wide = await page.evaluate(() =>
        [...document.querySelectorAll('body *')]
          .filter((element) => {
            const menu = element.closest('nav')
            const edge = menu ? menu.getBoundingClientRect().right : innerWidth
            return element.getBoundingClientRect().right > edge + 1
          })
          .map((element) => element.outerHTML.slice(0, 120)),
      )
      throw new Error(`${where} is too wide at ${width}:\n${wide.join('\n')}`)
    })
}
