// Names and patterns that were made to keep a thread busy: a partner chooses file names, an operator patterns. Neither
// may stop anybody else's work.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { readPlatform } from '../../src/platform/read.ts'
import { waitFor } from '../support/harness.ts'
import { PROPIO, sendAndWait, startBank } from './bank.ts'

const COSTLY = '_'.repeat(250)
const PATTERN = '*_*_*_*_*_*_*_*.txt'
const OTRO = 'BANCO-OTRO-FILES'

test('a name that makes a pattern backtrack stops neither the requests nor the transfers of others, nor the end of the node', async (t) => {
  const bank = await startBank(t)
  const directory = { filePath: bank.folder('propio-out'), fileGroupsName: PATTERN }
  await bank.put(`propio-out/${COSTLY}`, 'x')
  await bank.put(`partner-outbox/${COSTLY}`, 'x')
  await bank.put('pagos-out/order.txt', 'x')
  await bank.apply({
    contacts: [
      {
        id: 'otro',
        remoteCodes: [{ code: 'OTRO' }],
        protocol: 'folder',
        folder: { inbox: bank.folder('pagos-in'), outbox: bank.folder('partner-outbox') },
      },
    ],
    channels: [
      {
        code: PROPIO,
        contact: 'socio',
        direction: 'BIDIRECCIONAL',
        // The engine looks at what lies there, and at what the partner offers, every second.
        automation: { every: '1s' },
        directories: [
          { direction: 'EMISION', ...directory },
          { direction: 'RECEPCION', ...directory, filePath: bank.folder('propio-in') },
        ],
      },
      {
        code: OTRO,
        contact: 'otro',
        direction: 'EMISION',
        allowSendDuplicateFiles: true,
        directories: [{ direction: 'EMISION', filePath: bank.folder('pagos-out') }],
      },
    ],
  })
  const automated = () =>
    bank.store.db
      .selectFrom('automation_run')
      .select('ran_at')
      .where('channel_code', '=', PROPIO)
      .executeTakeFirst()
  await waitFor('the engine to have looked', automated)
  const asked = bank.call('sendTransfer', { code: PROPIO, as: 'luis' })
  assert.equal((await fetch(`${bank.url}/readyz`)).status, 200)
  assert.equal((await asked).status, 409)
  assert.equal(await sendAndWait(bank, OTRO, 'root'), 'COMPLETED')
  await bank.stop()
})

test('a pattern that could cost too much is refused where it is set, in the same words by a platform file', async (t) => {
  const bank = await startBank(t)
  const bomb = '{a,b}'.repeat(12)
  const tries = [
    ['setOutboundPath', { path: bank.folder(`propio-out/${bomb}`) }, '/path'],
    [
      'updateDirectories',
      [{ filePath: bank.folder('propio-out'), fileGroupsName: bomb }],
      '/0/fileGroupsName',
    ],
    ['updateChannel', { directories: [{ fileGroupsName: `x,${bomb}` }] }, '/directories/0/fileGroupsName'],
  ] as const
  for (const [name, body, field] of tries) {
    const answer = await bank.call(name, { code: PROPIO, as: 'luis', body })
    assert.equal(answer.status, 400, answer.text)
    assert.equal(
      answer.body.message,
      `${field} has more than 64 alternatives in the braces of a pattern`,
      answer.text,
    )
  }
  const climbing = { path: bank.folder('propio-out/{../pagos-in,x}/*') }
  const climbed = await bank.call('setOutboundPath', { code: PROPIO, as: 'luis', body: climbing })
  assert.equal(climbed.status, 400)
  assert.equal(climbed.body.message, '/path must not contain ..')
  const file = join(bank.dataDir, 'platform.yaml')
  const directories = [{ filePath: bank.folder('propio-out'), fileGroupsName: bomb }]
  const platform = {
    localEntities: [{ code: 'BANCO', name: 'Banco' }],
    contacts: [{ id: 'socio', remoteCodes: [{ code: 'SOCIO' }] }],
    channels: [{ code: PROPIO, contact: 'socio', directories }],
  }
  await writeFile(file, JSON.stringify(platform))
  assert.throws(
    () => readPlatform(file, { env: {}, roots: bank.context.roots, checkOnly: true }),
    /\/channels\/0\/directories\/0\/fileGroupsName has more than 64 alternatives in the braces of a pattern/,
  )
})
