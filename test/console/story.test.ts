// The whole story in a real browser: on a node with nobody but an administrator, two partners are made step by step, one
// over OFTP2 and one over SFTP, and their connections tested; a file is uploaded and sent to each; at the other node it is
// found by its name and downloaded; both audit trails tell it. With ESCLUSA_PICTURES it is filmed, too (tools/screenshots.ts).

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { auditEn } from '../../console/src/i18n/audit-en.ts'
import type { AuditAction } from '../../src/contract/audit.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import { makeIdentity } from '../oftp2/pair.ts'
import { startTestNode, tempFolder, waitFor } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { freePort, noOpenSsh } from '../support/sftp/openssh.ts'
import { pressIn } from './admin-forms.ts'
import { axeViolations, emptyScene, go, signIn, whyNot } from './browser.ts'
import { pictureTaker } from './pictures-of.ts'
import { USERS } from './platform.ts'

const skip = whyNot() ?? noOpenSsh
const [marta] = USERS
const PATIENCE = { timeout: 60_000 }

/** The partner's node: it is called, over either protocol. */
async function partnersNode(t: Parameters<typeof startTestNode>[0]) {
  const dataDir = await tempFolder(t)
  const { identity, certificate } = await makeIdentity('Acme Industrial')
  await writeFile(join(dataDir, 'oftp2-tls.pem'), identity, { mode: 0o600 })
  const [tlsPort, sftpPort] = [await freePort(), await freePort()]
  const node = await startTestNode(t, {
    empty: true,
    settings: {
      ESCLUSA_DATA_DIR: dataDir,
      ESCLUSA_OFTP2_TLS_PORT: String(tlsPort),
      ESCLUSA_SFTP_PORT: String(sftpPort),
    },
  })
  const inbound = (name: string) => [{ direction: 'RECEPCION' as const, filePath: join(node.files, name) }]
  const connection = { advancedConfigurationConnection: { callingEnd: 'REMOTO' as const } }
  await applyPlatform(
    node.context.store,
    node.context.seal,
    {
      users: [marta ?? assert.fail()],
      localEntities: [{ code: 'ACME', name: 'Acme Industrial', oftp2: { id: 'O0013ACME' } }],
      contacts: [
        {
          id: 'banco',
          protocol: 'oftp2',
          remoteCodes: [{ id: '1', code: 'BANCO' }],
          oftp2: { id: 'O0013BANCO' },
        },
        {
          id: 'banco-sftp',
          protocol: 'sftp',
          remoteCodes: [{ id: '1', code: 'BANCOSFTP' }],
          access: { username: 'banco', password: 'a long password of theirs' },
        },
      ],
      channels: [
        {
          code: 'ACME-BANCO-NOMINA',
          contact: 'banco',
          direction: 'RECEPCION',
          directories: inbound('nomina'),
          connection,
          security: {
            cryptography: true,
            ciphrate: 'TRANSMISION',
            authentication: 'PASSWORD',
            localKey: 'ACMEPASS',
            remoteKey: 'BANCPASS',
          },
        },
        {
          code: 'ACME-BANCOSFTP-FACTURA',
          contact: 'banco-sftp',
          direction: 'RECEPCION',
          directories: inbound('factura'),
          connection,
        },
      ],
    },
    { now: Date.now() },
  )
  const hostKey = execFileSync('ssh-keygen', ['-lf', join(dataDir, 'sftp-host-key.pem')], {
    encoding: 'utf8',
  })
  return { node, certificate, tlsPort, sftpPort, hostKey: hostKey.split(' ')[1] ?? '' }
}

type Shoot = (page: Page, name: string) => Promise<void>

async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(fields))
    await page.getByLabel(label, { exact: true }).fill(value)
}

const next = (page: Page) => page.getByRole('button', { name: 'Next' }).press('Enter')

/** From the plan to a connection that was found good, and on to the channel. */
async function make(page: Page, name: string, shoot: Shoot): Promise<void> {
  await page.getByRole('button', { name: 'Review changes' }).press('Enter')
  const plan = page.getByRole('dialog')
  await plan.getByText('+ channel').waitFor(PATIENCE)
  await shoot(page, `${name}-plan`)
  await plan.getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByRole('button', { name: 'Test the connection' }).press('Enter')
  await page.getByText('A call would succeed.').waitFor(PATIENCE)
  assert.deepEqual(await axeViolations(page), [])
  await shoot(page, `${name}-tested`)
  await page.getByRole('link', { name: 'To the channel' }).press('Enter')
}

async function uploadAndSend(page: Page, file: { name: string; text: string }, shoot: Shoot): Promise<void> {
  await page.getByRole('button', { name: 'Upload and send' }).press('Enter')
  const dialog = page.getByRole('dialog')
  const buffer = Buffer.from(file.text)
  await dialog.getByLabel('Files').setInputFiles({ name: file.name, mimeType: 'text/plain', buffer })
  await shoot(page, `${file.name}-upload`)
  await pressIn(dialog, 'Upload')
  await page.getByText('1 file goes').waitFor(PATIENCE)
  await shoot(page, `${file.name}-preview`)
  await pressIn(page.getByRole('dialog'), 'Send files')
  await page.getByRole('button', { name: 'Follow it' }).press('Enter')
  await page.locator('.page-title').getByText('Completed').waitFor(PATIENCE)
  await shoot(page, `${file.name}-sent`)
}

/** Found by its name among all transfers, and downloaded. */
async function find(page: Page, file: { name: string; text: string }, shoot: Shoot): Promise<void> {
  await go(page, '/transfers')
  await page.getByLabel('File name').fill(file.name)
  const row = page.locator('tbody tr').filter({ hasText: file.name })
  await row.first().waitFor(PATIENCE)
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1, null, PATIENCE)
  await shoot(page, `${file.name}-found`)
  await row.getByRole('link').first().press('Enter')
  const link = page.getByRole('link', { name: `Download: ${file.name}` })
  await link.waitFor(PATIENCE)
  const [download] = await Promise.all([page.waitForEvent('download', PATIENCE), link.press('Enter')])
  assert.equal(await readFile(await download.path(), 'utf8'), file.text)
}

async function told(page: Page, actions: readonly AuditAction[], name: string, shoot: Shoot): Promise<void> {
  await go(page, '/audit')
  for (const action of actions.map((one) => auditEn.actions[one]))
    await page.locator('tbody tr').filter({ hasText: action }).first().waitFor(PATIENCE)
  await shoot(page, name)
}

const isReceived = async ({ store }: TestNode, count: number) => {
  const rows = await store.db.selectFrom('transfer').select('id').where('state', '=', 'COMPLETED').execute()
  return rows.length === count
}

test('a partner made from nothing, a file sent over OFTP2 and over SFTP, and found', { skip }, async (t) => {
  const shoot = pictureTaker('story')
  const them = await partnersNode(t)
  const { node: us, open, faults } = await emptyScene(t)
  await applyPlatform(
    us.context.store,
    us.context.seal,
    { users: [marta ?? assert.fail()] },
    { now: Date.now() },
  )
  for (const folder of ['payroll', 'invoices']) await mkdir(join(us.files, folder), { recursive: true })
  const payroll = { name: 'payroll-march.txt', text: 'salaries' }
  const invoice = { name: 'invoice-0042.txt', text: 'to be paid' }

  const page = await open()
  await signIn(page, 'marta')
  await page.locator('.page').waitFor(PATIENCE)
  await go(page, '/partners')
  await page.getByRole('link', { name: 'Step by step' }).press('Enter')
  await fill(page, { Identifier: 'acme', Name: 'Acme Industrial', 'Remote code': 'ACME' })
  await shoot(page, 'oftp2-who')
  await next(page)
  await fill(page, {
    Address: '127.0.0.1',
    Port: String(them.tlsPort),
    'OFTP2 identification code': 'O0013ACME',
  })
  await shoot(page, 'oftp2-reach')
  await next(page)
  await fill(page, { 'Our password': 'BANCPASS', 'The partner’s password': 'ACMEPASS' })
  const pem = { name: 'acme.pem', mimeType: 'text/plain', buffer: Buffer.from(them.certificate) }
  await page.getByLabel('The partner’s certificate or public key: from a file').setInputFiles(pem)
  await page.getByText('CN=Acme Industrial').first().waitFor(PATIENCE)
  assert.deepEqual(await axeViolations(page), [])
  await shoot(page, 'oftp2-keys')
  await next(page)
  await page.getByLabel('Local entity', { exact: true }).selectOption({ label: 'A new one…' })
  await fill(page, {
    'Code of the new local entity': 'BANCO',
    'Name of the new local entity': 'Banco Azul',
    'OFTP2 identification of the new local entity': 'O0013BANCO',
    Application: 'NOMINA',
  })
  await page.getByLabel('Direction').selectOption('EMISION')
  await fill(page, { 'Where files to send are taken from': join(us.files, 'payroll') })
  await shoot(page, 'oftp2-channel')
  await make(page, 'oftp2', shoot)
  await uploadAndSend(page, payroll, shoot)

  await go(page, '/partners/step-by-step')
  await fill(page, { Identifier: 'acme-sftp', 'Remote code': 'ACMESFTP' })
  await page.getByLabel('Protocol').selectOption('sftp')
  await next(page)
  await fill(page, {
    Address: '127.0.0.1',
    Port: String(them.sftpPort),
    Username: 'banco',
    'Where our files go': '/{application}/in',
  })
  await next(page)
  await fill(page, { 'Fingerprints of the host key': them.hostKey, Password: 'a long password of theirs' })
  await shoot(page, 'sftp-keys')
  await next(page)
  await page.getByLabel('Local entity', { exact: true }).selectOption('BANCO')
  await fill(page, { Application: 'FACTURA' })
  await page.getByLabel('Direction').selectOption('EMISION')
  await fill(page, { 'Where files to send are taken from': join(us.files, 'invoices') })
  await make(page, 'sftp', shoot)
  await uploadAndSend(page, invoice, shoot)
  await told(
    page,
    ['FILE_UPLOADED', 'TRANSFER_SENT', 'CONTACT_TESTED', 'CHANNEL_CREATED'],
    'audit-here',
    shoot,
  )

  await waitFor('both files at the other node', () => isReceived(them.node, 2))
  const there = await open({ url: them.node.url })
  await signIn(there, 'marta')
  await there.locator('.page').waitFor(PATIENCE)
  await find(there, payroll, shoot)
  await find(there, invoice, shoot)
  await told(there, ['FILE_DOWNLOADED'], 'audit-there', shoot)
  assert.deepEqual(faults, [])
})
