// The commands about events and expectations, as people run them, beside a whole node.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { putExpectations } from '../../src/store/expectations/expectations.ts'
import { putSubscription, secretsPlace } from '../../src/store/events/subscriptions.ts'
import { startTestNode, waitFor } from '../support/harness.ts'
import { PLAIN } from '../support/seed.ts'
import { SECRET, startReceiver } from './receiver.ts'

const BINARY = fileURLToPath(new URL('../../bin/esclusa.js', import.meta.url))

test('subscriptions are tried, expectations seen and calendars shown from the command line', async (t) => {
  const node = await startTestNode(t, { settings: { ESCLUSA_WEBHOOK_NETWORKS: '127.0.0.0/8' } })
  const receiver = await startReceiver(t)
  const secrets = node.context.seal.seal(secretsPlace('hook'), JSON.stringify([SECRET]))
  await node.store.write(async (tx) => {
    await putSubscription(tx, {
      id: 'hook',
      settings: { webhook: { url: receiver.url }, events: ['node.*'] },
      secrets,
    })
    await putExpectations(tx, [{ id: 'daily', channel: PLAIN, direction: 'EMISION', by: '24:00' }])
  })
  const env = {
    PATH: process.env.PATH ?? '',
    ESCLUSA_URL: node.url,
    ESCLUSA_TOKEN: await node.token('admin'),
  }
  const run = async (...args: string[]) => {
    const child = spawn(process.execPath, [BINARY, ...args], { env })
    const said = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk) => (said.stdout += chunk))
    child.stderr.on('data', (chunk) => (said.stderr += chunk))
    const exit = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { exit, ...said }
  }
  const tested = await run('notify', 'test', 'hook')
  assert.equal(tested.exit, 0, tested.stderr)
  assert.match(tested.stdout, /^delivered: 200 after \d+ ms/)
  assert.equal(receiver.heard.find(({ event }) => event.type === 'subscription.test')?.verified, true)
  receiver.answer = () => ({ status: 503 })
  const failed = await run('notify', 'test', 'hook')
  assert.equal(failed.exit, 1)
  assert.match(failed.stderr, /not delivered, 503 after \d+ ms: answered 503/)
  assert.equal((await run('notify', 'test', 'none')).exit, 3)
  assert.match((await run('notify', 'list')).stdout, /hook +ON +http/)
  assert.match(
    (await run('notify', 'deliveries', '--state', 'PENDING')).stdout,
    /subscription.test +hook +PENDING +\d+ +503 +answered 503/,
  )
  assert.match((await run('events', '--type', 'node.*')).stdout, /node\.started/)

  await waitFor(
    'the day',
    async () => (await node.store.db.selectFrom('expectation_day').selectAll().execute()).length > 0,
  )
  const listed = await run('expectations')
  assert.match(listed.stdout, new RegExp(`daily +\\d{4}-\\d\\d-\\d\\d +waiting +0/1 +${PLAIN} +EMISION`))
  const { content } = JSON.parse((await run('expectations', '--json')).stdout) as {
    content: { day: string }[]
  }
  const noted = await run('expectations', 'acknowledge', 'daily', content[0]?.day ?? '', '--comment', 'seen')
  assert.match(noted.stdout, /is acknowledged by admin/)
  assert.match(
    (await run('calendar', 'show', 'target', '--year', '2027')).stdout,
    /2027-03-26 +Friday +closed/,
  )
  assert.match(
    (await run('calendar', 'show', 'daily', '--year', '2027')).stdout,
    /2027-12-31 +Friday +2027-12-31 00:00:00/,
  )
  assert.match((await run('calendar', 'show', 'nothing')).stderr, /no calendar or expectation nothing/)
  assert.match((await run('calendar', 'list')).stdout, /target +built in/)
})
