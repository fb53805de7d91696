// What holds a transfer, and automation that waits after failures: in operations and on the command line.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createClient } from '../../sdk/index.ts'
import { insertAutomationRun, lengthenPause } from '../../src/store/automation-runs.ts'
import { putHealth } from '../../src/store/partner-health.ts'
import { insertTransfer, moveTransfer } from '../../src/store/transfers/transfers.ts'
import { newFile } from '../../src/transfers/request.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestDatabase, TestNode } from '../support/harness.ts'
import type { TestContext } from 'node:test'
import { FULL, PLAIN } from '../support/seed.ts'

const FILE = { directory: 0, name: 'a.txt', path: '/a.txt', size: 1000, modifiedAt: 0 }
const run = promisify(execFile)

async function scene(t: TestContext, database: TestDatabase) {
  const node = await startTestHttp(t, { database })
  const as = async (username: string) =>
    createClient({ url: node.url, token: await node.token(username) }).platform
  return { node, as, admin: await as('globaladmin') }
}

async function ask(node: TestNode, id: string, channelCode: string, type: 'MANUAL' | 'AUTOMATIC' = 'MANUAL') {
  const file = { ...newFile(FILE, 0), keyDate: '20260101', keyTime: '0000000001' }
  const made = { direction: 'EMISION', type, requestedBy: null, retryOf: null } as const
  await node.store.write((tx) => insertTransfer(tx, { id, channelCode, ...made, now: 1, files: [file] }))
}

/** The command, as somebody who reads a terminal; its table has more than one line. */
async function command(node: TestNode, ...args: string[]): Promise<string> {
  const env = { ...process.env, ESCLUSA_URL: node.url, ESCLUSA_TOKEN: await node.token('globaladmin') }
  const { stdout, stderr } = await run(process.execPath, ['bin/esclusa.js', ...args], { env })
  return stdout + stderr
}

testOnBoth(
  'a transfer that waits says for what and until when, wherever it is shown',
  async (t, database) => {
    const { node, admin } = await scene(t, database)
    await ask(node, 'waits', PLAIN)
    const set = async (body: unknown) =>
      assert.equal((await node.call('updateChannel', { code: PLAIN, body })).status, 200)
    const hours = (initialHour: string | null, finishHour: string | null, callingEnd: string) => ({
      connection: { advancedConfigurationConnection: { initialHour, finishHour, callingEnd } },
    })
    await set(hours(null, null, 'REMOTO'))
    const seen = async () => [
      (await admin.transferFacts({ channelCode: PLAIN, transferId: 'waits' })).waiting,
      (await admin.overview()).active?.transfers[0]?.waiting,
      (await admin.searchTransfers({ channelCode: PLAIN })).content[0]?.waiting,
    ]
    const all = async (reason: string) => {
      const [first, ...others] = await seen()
      assert.equal(first?.reason, reason)
      for (const other of others) assert.deepEqual(other, first)
      return first?.until
    }
    assert.equal(await all('PARTNER_CALL'), undefined)
    await set(hours(null, null, 'LOCAL'))
    assert.equal(await all('TURN'), undefined)
    const now = node.context.now()
    const facts = (await admin.channelSetup({ channelCode: PLAIN })).contact
    const down = { contactId: facts, failures: 3, openUntil: now + 600_000, error: 'nobody answers' }
    await node.store.write((tx) => putHealth(tx, down, now))
    assert.equal(Date.parse((await all('PARTNER_DOWN')) ?? ''), now + 600_000)
    const open = new Date(now + 7_200_000)
    open.setUTCMinutes(0, 0, 0)
    const close = new Date(open.getTime() + 3_600_000)
    const hour = (at: Date) => at.toISOString().slice(11, 16)
    await set(hours(hour(open), hour(close), 'LOCAL'))
    assert.equal(Date.parse((await all('HOURS')) ?? ''), open.getTime())
    assert.match(await command(node, 'transfers', PLAIN), /WAITS FOR[^]*outside its hours, until/)
    assert.match(await command(node, 'transfer', PLAIN, 'waits'), /WAITS FOR[^]*outside its hours, until/)
    assert.match(await command(node, 'transfers', '--all'), /WAITS FOR[^]*outside its hours, until/)
  },
)

testOnBoth(
  'automation that waits after failures is shown, with its end and the reason',
  async (t, database) => {
    const { node, as, admin } = await scene(t, database)
    const now = node.context.now()
    await ask(node, 'failed', FULL, 'AUTOMATIC')
    await node.store.write(async (tx) => {
      await insertAutomationRun(tx, FULL, { ran_at: now, held_by: null, held_until: 0 })
      await moveTransfer(tx, 'failed', { from: 'PENDING', to: 'IN_PROGRESS', now })
      const error = { message: 'the partner already has a file a.txt', code: 'name_taken' }
      await moveTransfer(tx, 'failed', { from: 'IN_PROGRESS', to: 'FAILED', now, error })
      await lengthenPause(tx, FULL, now)
      await lengthenPause(tx, FULL, now)
    })
    const { automaticPause } = await admin.channelSetup({ channelCode: FULL })
    const { until = '', ...rest } = automaticPause ?? {}
    assert.deepEqual(rest, {
      failures: 2,
      transferId: 'failed',
      error: 'the partner already has a file a.txt',
    })
    assert.equal(Date.parse(until), now + 120_000)
    const [shown] = (await admin.overview()).pauses ?? []
    assert.deepEqual([shown?.channelCode, shown?.until, shown?.error], [FULL, until, automaticPause?.error])
    const listed = (await admin.searchChannels({ size: 100 })).content.map((one) => [
      one.code,
      one.automaticPauseUntil,
    ])
    assert.deepEqual(
      listed.filter(([, end]) => end !== undefined),
      [[FULL, until]],
    )
    // Why is in transfers, which a controller does not read.
    const told = (await (await as('controlator')).channelSetup({ channelCode: FULL })).automaticPause
    assert.deepEqual(told, { until, failures: 2 })
    const operator = await as('operator')
    assert.equal((await operator.overview()).pauses?.length, 1)
    await node.call('updateChannel', { code: FULL, body: { users: ['jefa'] } })
    assert.equal((await operator.overview()).pauses, undefined, 'a channel that is closed to them')
    assert.match(
      await command(node, 'status', FULL),
      /automation waits until .*, after 2 failed emissions in a row: the partner already has a file a\.txt/,
    )
    assert.match(await command(node, 'channels', '--all'), /AUTOMATION WAITS UNTIL/)

    node.context.now = () => now + 120_001
    assert.equal((await admin.channelSetup({ channelCode: FULL })).automaticPause, undefined)
    assert.equal((await admin.overview()).pauses, undefined)
  },
)
