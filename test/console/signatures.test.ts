// Quarantined files and proposed keys, in a real browser: each looked at and decided by whoever may.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { es } from '../../console/src/i18n/es.ts'
import type { Auths } from '../../src/contract/user.ts'
import { authsOf } from '../../src/domain/user.ts'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { publicPartOf } from '../../src/keys/key-facts.ts'
import { findAccount, putAccount } from '../../src/store/accounts.ts'
import { findChannel, openChannel } from '../../src/store/channels.ts'
import { findQuarantined } from '../../src/store/quarantine.ts'
import { findKeyProposal, insertKeyProposal } from '../../src/store/keys/proposals.ts'
import { waitFor } from '../support/harness.ts'
import { putIntoQuarantine } from '../support/quarantine.ts'
import { pressIn } from './admin-forms.ts'
import { axeViolations, go, requireFits, sharedScene, signIn, whyNot } from './browser.ts'
import { BROKEN, PAYROLL } from './platform.ts'

const skip = whyNot() ?? false
const scene = sharedScene()
const LONG = `${'a-very-long-name-'.repeat(7)}.txt`

test('a controller downloads, releases and discards quarantined files', { skip }, async () => {
  const { as, node, faults } = scene()
  await putIntoQuarantine(node, 'q1', { channelCode: PAYROLL, name: 'pay.txt' })
  await putIntoQuarantine(node, 'q2', { channelCode: PAYROLL, name: LONG })
  const page = await as('vera')
  await page.getByRole('link', { name: 'Quarantine', exact: true }).click()
  const item = page.getByRole('listitem').filter({ hasText: 'pay.txt' })
  await item.waitFor()
  assert.deepEqual(await axeViolations(page), [])
  for (const width of [390, 2560, 1440]) await requireFits(page, width)
  const download = page.waitForEvent('download')
  await item.getByRole('link', { name: 'Opened' }).click()
  assert.equal(await readFile(await (await download).path(), 'utf8'), 'the content')
  await item.getByRole('button', { name: 'Release' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click()
  await page.getByText('pay.txt is released').waitFor()
  const released = await findQuarantined(node.store.db, 'q1')
  assert.equal(await readFile(released?.target ?? '', 'utf8'), 'the content')
  const other = page.getByRole('listitem').filter({ hasText: LONG })
  await other.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
  const state = async () => (await findQuarantined(node.store.db, 'q2'))?.state === 'DISCARDED'
  await waitFor('it is discarded', state, 60_000)
  // Nothing that a role may not do is shown to it.
  assert.equal(await page.getByRole('link', { name: 'Proposed keys', exact: true }).count(), 0)
  assert.deepEqual(faults, [])
})

test(
  'a proposed key is accepted only with its fingerprint; another is set on one channel',
  { skip },
  async () => {
    const { as, node, faults } = scene()
    const { certificatePem: pem } = await generateSelfSigned({ commonName: 'Partner', bits: 2048 })
    const { fingerprint } = publicPartOf(pem) ?? { fingerprint: '' }
    const channel = await node.store.db
      .selectFrom('channel')
      .select('contact_id')
      .where('code', '=', PAYROLL)
      .executeTakeFirstOrThrow()
    const proposal = { channelCode: PAYROLL, contactId: channel.contact_id, pem, receivedAt: Date.now() }
    await node.store.write((tx) => insertKeyProposal(tx, { id: 'k1', fingerprint, ...proposal }))
    const page = await as('marta')
    await go(page, '/proposed-keys')
    const accept = page.getByRole('button', { name: 'Accept' })
    await accept.waitFor()
    assert.deepEqual(await axeViolations(page), [])
    assert.equal(await accept.isDisabled(), true)
    const told = page.getByLabel('Fingerprint that the partner has told you')
    await told.fill('ab'.repeat(32))
    await page.getByText('This is not the fingerprint of this key.').waitFor()
    await told.fill(fingerprint.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:'))
    await accept.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Accept' }).click()
    const isAccepted = async () => (await findKeyProposal(node.store.db, 'k1'))?.acceptedAt != null
    await waitFor('it is accepted', isAccepted, 60_000)

    const other = await generateSelfSigned({ commonName: 'Luz del Norte', bits: 2048 })
    await go(page, '/keys')
    await page.getByRole('row').filter({ hasText: 'CN=Partner' }).waitFor()
    await page.getByLabel('Code of the channel').fill(BROKEN)
    await page.getByLabel('Certificate or key', { exact: true }).fill('no key')
    await page.getByText('This is no certificate or key that can be read.').waitFor()
    await page.getByLabel('Certificate or key: from a file').setInputFiles({
      name: 'luz.pem',
      mimeType: 'text/plain',
      buffer: Buffer.from(other.certificatePem),
    })
    await page.getByText('CN=Luz del Norte').first().waitFor()
    await page.getByRole('button', { name: 'Set the key' }).press('Enter')
    const row = page.getByRole('row').filter({ hasText: 'CN=Luz del Norte' })
    await row.getByRole('link', { name: BROKEN }).waitFor()
    assert.deepEqual(await axeViolations(page), [])
    const uploaded = await node.store.db
      .selectFrom('audit')
      .selectAll()
      .where('action', '=', 'KEY_UPLOADED')
      .execute()
    assert.deepEqual(
      uploaded.map(({ who, channel_code: code, detail }) => [who, code, JSON.parse(detail).facts]),
      [['marta', BROKEN, { side: 'REMOTE', fingerprint: publicPartOf(other.certificatePem)?.fingerprint }]],
    )
    assert.deepEqual(faults, [])
  },
)

test(
  'whoever may sign makes a key for a channel, and is told what it replaces and what the partner must get',
  { skip },
  async () => {
    const { open, node, faults } = scene()
    const keyOf = async () => {
      const channel = (await findChannel(node.store.db, PAYROLL)) ?? assert.fail()
      return publicPartOf(openChannel(node.context.seal, channel).security?.rsaLocalKey ?? '')
    }
    const role = 'ROLE_ADMINFF'
    const become = async (username: string, auths: Partial<Auths> = {}) => {
      const account = (await findAccount(node.store.db, username)) ?? assert.fail()
      await node.store.write((tx) => putAccount(tx, { ...account, role, auths: authsOf(role, auths) }))
      const page = await open()
      await signIn(page, username)
      await page.locator('.tiles').waitFor()
      await go(page, `/channels/${PAYROLL}/configuration`)
      return page
    }
    const page = await become('pablo')
    const keys = page.getByRole('region', { name: es.keyList.ofChannel })
    const dialog = page.getByRole('dialog')
    const make = async () => {
      await keys.getByRole('button', { name: es.keyList.make }).press('Enter')
      await dialog.getByText(es.keyList.makeText).waitFor()
    }
    await make()
    assert.equal(await dialog.getByText('Sustituye').count(), 0)
    await pressIn(dialog, es.keyList.make)
    await page.getByText(es.keyList.made(PAYROLL)).waitFor()
    const first = (await keyOf()) ?? assert.fail()
    const certificate = keys.getByLabel(es.wizard.ownCertificate)
    assert.equal((await certificate.inputValue()).trim(), first.pem.trim())
    await keys.getByText(first.fingerprint).waitFor()
    assert.deepEqual(await axeViolations(page), [])
    await requireFits(page, 390)
    await page.setViewportSize({ width: 1280, height: 900 })
    await make()
    await dialog.getByText(es.keyList.replaces(first.subject ?? '', first.fingerprint)).waitFor()
    await pressIn(dialog, es.keyList.make)
    await keys.getByText(first.fingerprint).waitFor({ state: 'detached' })
    const second = (await keyOf()) ?? assert.fail()
    assert.notEqual(second.fingerprint, first.fingerprint)

    // Without svcFF nobody sees whether there is a key: the question says both, and the certificate is shown all the same.
    const other = await become('vera', { svcFF: false })
    const panel = other.getByRole('region', { name: 'Keys of the channel' })
    await panel.getByRole('button', { name: 'Make a new key of ours' }).press('Enter')
    await other.getByRole('dialog').getByText('If the channel has a key of ours').waitFor()
    await pressIn(other.getByRole('dialog'), 'Make a new key of ours')
    await panel.getByLabel('Our certificate').waitFor()
    const third = (await keyOf()) ?? assert.fail()
    assert.equal((await panel.getByLabel('Our certificate').inputValue()).trim(), third.pem.trim())
    assert.notEqual(third.fingerprint, second.fingerprint)
    assert.deepEqual(faults, [])
  },
)

test(
  'a signing administrator changes what concerns signatures, and is offered nothing else',
  { skip },
  async () => {
    const { open, node, faults } = scene()
    const pablo = (await findAccount(node.store.db, 'pablo')) ?? assert.fail()
    const role = 'ROLE_ADMINFF'
    await node.store.write((tx) => putAccount(tx, { ...pablo, role, auths: authsOf(role) }))
    const page = await open()
    await signIn(page, 'pablo')
    await page.locator('.tiles').waitFor()
    await go(page, `/channels/${PAYROLL}/configuration`)
    await page.getByRole('button', { name: es.config.edit }).press('Enter')
    const fields = page.locator('form input, form select, form textarea')
    await fields.first().waitFor()
    assert.equal(await fields.count(), 7)
    assert.ok(await fields.first().evaluate((element) => element === document.activeElement))
    assert.deepEqual(await axeViolations(page), [])
    await page.locator('#field-emissionff').selectOption('false')
    await page.getByRole('button', { name: es.config.review }).press('Enter')
    await pressIn(page.getByRole('dialog'), es.config.save)
    await page.getByText(es.config.saved).waitFor()
    assert.deepEqual(faults, [])
  },
)
