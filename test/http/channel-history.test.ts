// A channel's history with who did it, what was changed and which transfer it is about; each user sees what is theirs.

import assert from 'node:assert/strict'
import { createClient } from '../../sdk/index.ts'
import { addHistory } from '../../src/store/channels.ts'
import { startTestNode, testOnBoth } from '../support/harness.ts'
import { CLOSED, PLAIN } from '../support/seed.ts'

testOnBoth('the history says who, what was changed and which transfer', async (t, database) => {
  const node = await startTestNode(t, { database })
  const as = async (username: string) =>
    createClient({ url: node.url, token: await node.token(username) }).platform
  await node.call('updateChannel', { code: PLAIN, body: { name: 'Pagos' } })
  await node.call('updateChannel', { code: PLAIN, body: { security: { remoteKey: 'a new password' } } })
  await node.store.write((tx) =>
    addHistory(tx, PLAIN, [
      { at: Date.now(), event: 'TRANSFER_FAILED', detail: '0199a7c8-0b44: no connection: refused' },
      { at: Date.now(), event: 'CONNECTION_REFUSED', detail: '192.0.2.1: not one of its addresses' },
      { at: Date.now(), event: 'CHANNEL_UPDATED', detail: 'by apply' },
    ]),
  )
  const read = async (username: string) => {
    const page = await (await as(username)).channelHistoryFacts({ channelCode: PLAIN, size: 5 })
    return page.content.map(({ datetime: _when, ...entry }) => entry)
  }
  const renamed = {
    event: 'CHANNEL_UPDATED',
    user: 'globaladmin',
    changes: [{ field: '/name', after: 'Pagos' }],
  }
  const refused = { event: 'CONNECTION_REFUSED', note: '192.0.2.1: not one of its addresses' }
  const applied = { event: 'CHANNEL_UPDATED' }
  const failed = { event: 'TRANSFER_FAILED', transferId: '0199a7c8-0b44', note: 'no connection: refused' }
  const [, , , rekeyed, ...seen] = await read('globaladmin')
  assert.deepEqual([rekeyed?.user, rekeyed?.changes?.[0]?.field], ['globaladmin', '/security/remoteKey'])
  assert.equal(typeof rekeyed?.changes?.[0]?.after, 'string')
  assert.ok(!JSON.stringify(rekeyed).includes('a new password'))
  assert.deepEqual(seen, [renamed])
  const withoutValue = {
    event: 'CHANNEL_UPDATED',
    user: 'globaladmin',
    changes: [{ field: '/security/remoteKey' }],
  }
  assert.deepEqual(await read('operator'), [applied, refused, failed, withoutValue, renamed])
  // Who may not see transfers learns that one failed, as the interface shows it, and no more.
  assert.deepEqual((await read('controlator'))[2], { event: 'TRANSFER_FAILED' })
  await assert.rejects((await as('advoperator')).channelHistoryFacts({ channelCode: CLOSED }), {
    status: 403,
  })
  await assert.rejects((await as('operator')).channelHistoryFacts({ channelCode: 'A-B-C' }), { status: 404 })
})
