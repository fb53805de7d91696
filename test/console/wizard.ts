// The steps to a new partner, all of them, in Spanish: a channel made like another, which gets the passwords and the
// certificate that were typed.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { es } from '../../console/src/i18n/es.ts'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { findChannel, openChannel } from '../../src/store/channels.ts'
import { go } from './browser.ts'
import type { Scene } from './browser.ts'

const { wizard, newChannel, admin, config } = es
const LIKE = 'BANCO-ACME-ADEUDO'

export async function walkWizard(
  { node }: Scene,
  page: Page,
  look: (name: string) => Promise<void>,
): Promise<void> {
  const next = () => page.getByRole('button', { name: wizard.next }).press('Enter')
  const at = async (step: keyof typeof wizard.steps) => {
    await page.getByRole('region', { name: wizard.steps[step] }).waitFor()
    await look(`wizard, ${step}`)
  }
  const fill = async (fields: Record<string, string>) => {
    for (const [label, value] of Object.entries(fields))
      await page.getByLabel(label, { exact: true }).fill(value)
  }
  const { certificatePem } = await generateSelfSigned({ commonName: 'Delta', bits: 2048 })
  await page.getByText('Español', { exact: true }).first().click()
  await go(page, '/partners/step-by-step')
  await page.getByRole('heading', { level: 1, name: wizard.title }).waitFor()
  await fill({ [admin.fields.id]: 'delta', [newChannel.remote]: 'DELTA' })
  await at('who')
  await next()
  await fill({ [admin.fields.ipAddress]: '127.0.0.1', [admin.fields.port]: '1' })
  await at('reach')
  await next()
  await fill({
    [wizard.localKey]: 'OURPASS',
    [wizard.remoteKey]: 'THEIRS',
    [wizard.certificate]: certificatePem,
  })
  await page.getByText('CN=Delta').first().waitFor()
  // Making one takes long where the machine is busy; the story does it.
  await page.getByLabel(wizard.generate).uncheck()
  await at('keys')
  await next()
  await page.getByRole('option', { name: LIKE }).waitFor({ state: 'attached' })
  await page.getByLabel(newChannel.entity, { exact: true }).selectOption('BANCO')
  await page.getByLabel(wizard.like, { exact: true }).selectOption(LIKE)
  await fill({ [newChannel.application]: 'COPIA' })
  await at('channel')
  await page.getByRole('button', { name: config.review }).press('Enter')
  const plan = page.getByRole('dialog')
  await plan.getByText('+ contact delta').waitFor()
  await look('wizard, plan')
  await plan.getByRole('button', { name: config.save }).press('Enter')
  await page.getByText(wizard.made('delta', 'BANCO-DELTA-COPIA')).waitFor()
  await look('wizard, test')
  const made = (await findChannel(node.store.db, 'BANCO-DELTA-COPIA')) ?? assert.fail()
  const { authentication, localKey, remoteKey, rsaRemoteKey } =
    openChannel(node.context.seal, made).security ?? {}
  assert.deepEqual(
    { authentication, localKey, remoteKey, rsaRemoteKey: rsaRemoteKey?.trim() },
    {
      authentication: 'PASSWORD',
      localKey: 'OURPASS',
      remoteKey: 'THEIRS',
      rsaRemoteKey: certificatePem.trim(),
    },
  )
}
