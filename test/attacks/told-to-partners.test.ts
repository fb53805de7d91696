// What partners are told of failures: what is wrong with their file, and nothing of this node's folders and scripts.

import assert from 'node:assert/strict'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { applyPlatform } from '../../src/platform/apply.ts'
import { SAMPLES } from '../support/oftp2/partner.ts'
import { startTestNode, tempFolder } from '../support/harness.ts'
import { freePort } from '../support/sftp/openssh.ts'
import { callBank, codeOf } from './partner.ts'

test('neither local paths nor what scripts print are told to a partner whose file fails', async (t) => {
  const port = await freePort()
  const scripts = await tempFolder(t)
  const node = await startTestNode(t, {
    empty: true,
    settings: { ESCLUSA_OFTP2_PORT: String(port), ESCLUSA_SCRIPT_ROOTS: scripts },
  })
  const script = join(scripts, 'check.sh')
  await writeFile(script, '#!/bin/sh\necho "the vault is at $0" >&2\nexit 3\n')
  await chmod(script, 0o700)
  const inbox = (application: string) => join(node.files, application, 'in')
  for (const application of ['TAKEN', 'SCRIPT']) await mkdir(inbox(application), { recursive: true })
  await writeFile(join(inbox('TAKEN'), 'order.txt'), 'the one that was here before')
  const channel = (application: string) => ({
    code: codeOf(application),
    contact: 'acme',
    direction: 'RECEPCION' as const,
    directories: [{ direction: 'RECEPCION' as const, filePath: inbox(application) }],
  })
  const platform = {
    localEntities: [{ code: 'BANCO', name: 'Banco' }],
    contacts: [{ id: 'acme', remoteCodes: [{ code: 'ACME' }], protocol: 'oftp2' as const }],
    channels: [channel('TAKEN'), { ...channel('SCRIPT'), integrations: { preReceptionFile: script } }],
  }
  await applyPlatform(node.store, node.context.seal, platform, { now: Date.now(), prune: true })

  const partner = await callBank(t, port)
  assert.ok(typeof partner !== 'string')
  const sfid = { ...SAMPLES.SFID, originator: 'ACME', destination: 'BANCO' }
  for (const [at, application] of ['TAKEN', 'SCRIPT'].entries()) {
    const time = `120000001${at}`
    partner.say({ ...sfid, user: application, dataset: `F${at}`, time, description: 'order.txt' })
    await partner.expect('SFPA')
    partner.say(SAMPLES.DATA, SAMPLES.EFID)
    const answer = await partner.hear()
    assert.equal(answer?.kind, 'EFNA', application)
    const text = answer?.kind === 'EFNA' ? answer.text : ''
    assert.doesNotMatch(text, /\/|vault/, application)
  }
})
