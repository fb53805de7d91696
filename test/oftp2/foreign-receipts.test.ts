// Receipts and partners that keep to RFC 5024 in other ways than this node does: one that does not take an EERP, one that
// calls for some of its channels alone, and one whose EERP comes though its EFPA was lost.

import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { applyPlatform } from '../../src/platform/apply.ts'
import { readPlatform } from '../../src/platform/read.ts'
import { waitFor } from '../support/harness.ts'
import { dataOf, n, octets, text, x } from '../support/oftp2/foreign.ts'
import { awaiting, CREDIT, NODE_ID, startForeignNode } from './foreign-node.ts'
import type { Foreign } from './foreign-node.ts'

/** The partner brings a file, and hangs up before it can be told the receipt. */
async function bring(t: TestContext, foreign: Foreign, user = 'FILES'): Promise<void> {
  const { line } = await foreign.calls(t, '5')
  const ends = `${x(user, 8)}${x(NODE_ID, 25)}${x(foreign.id, 25)}U00000${n(1, 13)}${n(1, 13)}${n(0, 17)}`
  line.say(`H${x('BROUGHT', 26)}   202611161213140007${ends}000000N000`)
  await line.expect('2')
  line.say(dataOf(Buffer.from('x'))).say(`T${n(0, 17)}${n(1, 17)}`)
  await line.expect('4')
  line.hangUp()
  await waitFor('the receipt to be owed', async () => (await foreign.owed()).length > 0)
}

test('a partner that ends sessions at a receipt still gets files', async (t) => {
  const node = await startForeignNode(t)
  const foreign = await node.relate(t)
  await bring(t, foreign)
  // The calls are those of the transfer, or for the receipt alone: whichever comes first.
  const id = await foreign.send('first.txt', 'first')
  for (let time = 0; time < 2; time++) {
    const { line } = await foreign.called('5')
    await line.expect('E')
    line.say('F99000\r')
    await line.whenClosed()
  }
  assert.equal((await foreign.ended(id)).state, 'FAILED')
  const next = await foreign.send('second.txt', 'second')
  const { line } = await foreign.called('5')
  for (let file = 0; file < 2; file++) {
    await line.expect('H')
    line.say(`2${n(0, 17)}`)
    await line.expectFile(CREDIT)
    line.say('4N')
  }
  await line.expect('R')
  line.say('F00000\r')
  assert.equal((await foreign.ended(next)).state, 'COMPLETED')
  assert.equal((await foreign.owed()).length, 1)
})

test('a partner is not called for receipts of channels for which it calls', async (t) => {
  const node = await startForeignNode(t)
  const [foreign, other] = [await node.relate(t), await node.relate(t)]
  const code = foreign.code.replace('FILES', 'WAITS')
  const filePath = join(node.files, code)
  await mkdir(filePath)
  const path = join(node.dataDir, `${foreign.id}.yaml`) // as `relate` wrote it
  const related = JSON.parse(await readFile(path, 'utf8')) as { channels: object[] }
  const channel = {
    code,
    contact: foreign.code.toLowerCase(),
    direction: 'RECEPCION',
    directories: [{ direction: 'RECEPCION', filePath }],
    connection: { advancedConfigurationConnection: { callingEnd: 'REMOTO' } },
  }
  await writeFile(path, JSON.stringify({ ...related, channels: [...related.channels, channel] }))
  const { platform } = readPlatform(path, { env: {}, roots: node.context.roots })
  await applyPlatform(node.store, node.context.seal, platform, { now: Date.now() })
  await bring(t, foreign, 'WAITS')
  await bring(t, other)
  // When the other one is called for the second time, every partner has been looked at since its receipt was due.
  for (let time = 0; time < 2; time++) {
    const { line } = await other.called('5')
    await line.expect('E')
    line.hangUp()
    await line.whenClosed()
  }
  assert.equal(foreign.server.unanswered, 0)
})

test('a file whose receipt came, though the line broke before its EFPA, is not offered again', async (t) => {
  const node = await startForeignNode(t)
  const foreign = await node.relate(t, awaiting())
  const id = await foreign.send('paid.txt', 'paid')
  const { line } = await foreign.called('5')
  const offered = text(await line.expect('H'))
  line.say(`2${n(0, 17)}`)
  await line.expectFile(CREDIT)
  line.hangUp()
  assert.equal((await foreign.ended(id)).error_code, 'connection_lost')
  const calling = (await foreign.calls(t, '5')).line
  const [dataset, when] = [offered.slice(1, 27), offered.slice(30, 48)]
  const receipt = `E${dataset}   ${when}${x('', 8)}${x(NODE_ID, 25)}${x(foreign.id, 25)}`
  calling.say(octets(receipt, Uint8Array.of(0, 0, 0, 0)))
  await calling.expect('P')
  calling.hangUp()
  const { status, text: said, body } = await node.call('retryTransfer', { code: foreign.code, as: 'admin' })
  assert.equal(status, 200, said)
  const again = (await foreign.called('5')).line
  await again.expect('R')
  again.say('F00000\r')
  const { state, error } = await foreign.ended(String(body.transferId))
  assert.equal(state, 'COMPLETED', error ?? '')
})
