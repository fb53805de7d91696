// What answers give away on their way: nobody keeps them, no browser guesses their type, and the node's numbers are
// shown to nobody who did not show who they are.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { operations } from '../../src/contract/operations.ts'
import type { OperationName } from '../../src/contract/operations.ts'
import { startTestNode } from '../support/harness.ts'
import { FULL, PASSWORD } from '../support/seed.ts'

test('answers with keys, tokens and people are kept by nobody on the way, errors neither', async (t) => {
  const node = await startTestNode(t)
  for (const name of Object.keys(operations) as OperationName[])
    for (const as of ['globaladmin', null]) {
      const body = name === 'loginV2' ? { username: 'operator', password: PASSWORD } : undefined
      const answer = await node.call(name, { as, code: FULL, transferId: 'x', body })
      assert.equal(answer.headers.get('cache-control'), 'no-store', `${name} ${answer.status}`)
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', `${name} ${answer.status}`)
    }
  const socket = connect(Number(new URL(node.url).port), '127.0.0.1')
  socket.end('nonsense\r\n\r\n')
  assert.match(await text(socket), /no-store[^]*nosniff/)
})

test('whoever comes through a proxy on the node’s machine does not read the metrics', async (t) => {
  const node = await startTestNode(t)
  // A plain proxy: the connection comes from loopback, with or without a word about its client.
  for (const headers of [new Headers(), new Headers({ 'x-forwarded-for': '203.0.113.9' })]) {
    const answer = await fetch(`${node.url}/metrics`, { headers })
    assert.equal(answer.status, 401)
    assert.doesNotMatch(await answer.text(), /esclusa_/)
  }
  const admin = { authorization: `Bearer ${await node.token('globaladmin')}` }
  assert.equal((await fetch(`${node.url}/metrics`, { headers: admin })).status, 200)
})

test('an address list for the metrics goes by the client that a trusted proxy names, and by no other’s word', async (t) => {
  const node = await startTestNode(t, {
    settings: { ESCLUSA_TRUSTED_PROXIES: '127.0.0.1', ESCLUSA_METRICS_NETWORKS: '10.1.0.0/16' },
  })
  const status = async (forwarded: string) =>
    (await fetch(`${node.url}/metrics`, { headers: { 'x-forwarded-for': forwarded } })).status
  assert.equal(await status('10.1.2.3'), 200)
  assert.equal(await status('203.0.113.9'), 401)
  // The client wrote the first part itself; the proxy added what it saw.
  assert.equal(await status('10.1.2.3, 203.0.113.9'), 401)
  assert.equal(await status('10.1.2.3:4711, 203.0.113.9:4712'), 401)
  // Through a second proxy that is trusted too.
  assert.equal(await status('10.1.2.3:4711, 127.0.0.1:4712'), 200)
  const untrusting = await startTestNode(t, { settings: { ESCLUSA_METRICS_NETWORKS: '10.1.0.0/16' } })
  const lied = await fetch(`${untrusting.url}/metrics`, { headers: { 'x-forwarded-for': '10.1.2.3' } })
  assert.equal(lied.status, 401)
})
