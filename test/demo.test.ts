// `esclusa demo` as a person meets it: what it prints, what the three commands say when pasted, what the console finds.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { createClient } from '../sdk/index.ts'
import { fromRoot } from '../src/root.ts'
import { closeAfter, tempFolder, waitFor } from './support/harness.ts'

const run = promisify(execFile)
const START_MS = 120_000

async function startDemo(t: TestContext) {
  const folder = await tempFolder(t)
  // Not from where another demo would begin to count.
  const port = String(20_000 + (process.pid % 10_000))
  const demo = spawn(process.execPath, ['bin/esclusa.js', 'demo', '--folder', folder, '--port', port], {
    cwd: fromRoot(''),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (text) => (said += String(text)))
  const ended = once(demo, 'exit')
  closeAfter(t, async () => {
    demo.kill('SIGINT')
    assert.deepEqual(await ended, [0, null])
  })
  await waitFor(
    'the demo to say how to end it',
    () => {
      assert.equal(demo.exitCode, null, said)
      return said.includes('Ctrl-C')
    },
    START_MS,
  )
  const url = /console +(\S+)\/console/.exec(said)?.[1] ?? ''
  const password = /login +ana \/ (\S+)/.exec(said)?.[1] ?? ''
  const commands = said.split('\n').filter((line) => /^ {2}(export|npx) /.test(line))
  const as = (username: string) => createClient({ url, credentials: { username, password } })
  return { as, commands, folder, said: () => said }
}

test('the demo opens on a platform with life in it, and what it prints can be pasted', async (t) => {
  const { as, commands, folder, said } = await startDemo(t)
  const ana = as('ana')
  const { channels, active, hours = [], failures, partners = [] } = await ana.platform.overview()
  assert.ok(channels.total >= 12 && channels.total <= 30)
  const { ERROR, CLOSED, INACTIVE, PENDING, IDLE } = channels.byStatus
  assert.ok(ERROR >= 3 && CLOSED >= 1 && INACTIVE >= 1 && PENDING >= 1 && IDLE >= 5)
  assert.ok(active && active.pending + active.inProgress >= 1)
  const ofDay = hours.map((hour) => hour.completed + hour.failed + hour.cancelled)
  assert.ok(ofDay.reduce((sum, count) => sum + count, 0) >= 100)
  assert.ok(ofDay.slice(0, -1).every((count) => count > 0) && new Set(ofDay).size > 5, ofDay.join(' '))
  assert.ok(new Set(failures?.transfers.map((one) => one.errorCode)).size >= 3)
  assert.deepEqual(
    partners.filter(({ name }) => name !== 'Acme SA').map(({ name }) => name),
    ['Transportes Lejano'],
  )
  const { content: contacts } = await ana.listContacts({ size: 20 })
  assert.ok(contacts.length >= 6 && contacts.every(({ contactInfo = [] }) => contactInfo.length > 0))
  // Open to Ana alone.
  const seen = (await as('luis').platform.searchChannels({ size: 100 })).content.map(({ code }) => code)
  assert.deepEqual([seen.length, seen.includes('BANCO-ACME-DIRECT')], [channels.total - 1, false])

  const statusOf = async (channelCode: string) =>
    (await ana.listTransfers({ channelCode, size: 1 })).content[0]?.status
  const broken = 'BANCO-LEVANTE-RECIBOS'
  assert.equal(await statusOf(broken), 'FAILED')
  await ana.retryTransfer({ channelCode: broken })
  await waitFor('the retry', async () => (await statusOf(broken)) === 'COMPLETED')
  const expected = async () => (await ana.platform.overview()).expectations?.days ?? []
  await waitFor('the statements that are due', async () =>
    (await expected()).some(({ expectation, state }) => expectation === 'statements' && state === 'met'),
  )
  const list = (await expected()).find(({ expectation }) => expectation === 'price-list')
  // In the first hour of a day it is not late yet.
  if (new Date().getUTCHours() > 0) assert.equal(list?.state, 'late')
  await waitFor('what the receiver prints', () =>
    /heard .* expectation\.met +BANCO-ACME-EXTRACTO/.test(said()),
  )
  await waitFor('the failure there', () => /heard .* transfer\.failed +BANCO-LEVANTE-RECIBOS/.test(said()))

  assert.equal(commands.length, 3)
  const pasted = await run('sh', ['-ec', commands.join('\n')], { cwd: fromRoot('') })
  assert.match(pasted.stdout, /COMPLETED +EMISION +MANUAL/)
  assert.match(pasted.stdout, /nomina-noviembre\.txt/)

  const big = 'CUSTODIA-DEPOSITO-ARCHIVO'
  // Looked for on the disk first: it takes long, and asking the node all the while takes time from it.
  await waitFor('the big file', () => globSync('**/in/documentos.tar', { cwd: folder })[0], START_MS)
  await waitFor('its end', async () => (await statusOf(big)) === 'COMPLETED')
  assert.equal((await ana.sendTransfer({ channelCode: big })).status, 'PENDING')
})
