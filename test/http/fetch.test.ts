// Asking for a reception: when it may be asked for, by whom, and what is written down.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createClient } from '../../sdk/index.ts'
import { insertTransfer, moveTransfer } from '../../src/store/transfers/transfers.ts'
import { newId } from '../../src/store/database/ids.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestDatabase } from '../support/harness.ts'
import { PLAIN } from '../support/seed.ts'

async function scene(t: TestContext, database: TestDatabase) {
  const node = await startTestHttp(t, { database })
  const update = async (body: unknown) => {
    const { status, text } = await node.call('updateChannel', { code: PLAIN, body })
    assert.equal(status, 200, text)
  }
  const { platform } = createClient({ url: node.url, token: await node.token('operator') })
  const fetch = () => platform.fetchTransfer({ channelCode: PLAIN })
  const directories = [
    { direction: 'EMISION', filePath: join(node.files, 'out') },
    { direction: 'RECEPCION', filePath: join(node.files, 'in') },
  ]
  return { node, update, fetch, directories }
}

const callingEnd = (value: string) => ({
  connection: { advancedConfigurationConnection: { callingEnd: value } },
})

testOnBoth('a fetch is a reception that waits, in the history and the audit trail', async (t, database) => {
  const { node, update, fetch, directories } = await scene(t, database)
  await update({ ...callingEnd('LOCAL'), directories })
  const { transferId, ...made } = await fetch()
  assert.deepEqual(made, {
    channelCode: PLAIN,
    direction: 'RECEPCION',
    status: 'PENDING',
    type: 'MANUAL',
    encryption: false,
    files: [],
  })
  const { content } = (await node.call('channelHistory', { code: PLAIN })).body
  assert.equal(content[0].event, 'TRANSFER_REQUESTED')
  const { platform } = createClient({ url: node.url, token: await node.token('globaladmin') })
  const [entry] = (await platform.auditTrail({ action: 'TRANSFER_FETCHED' })).content
  assert.deepEqual([entry?.user, entry?.subject, entry?.channelCode], ['operator', transferId, PLAIN])
})

testOnBoth('a fetch says why not, as a send does', async (t, database) => {
  const { node, update, fetch, directories } = await scene(t, database)
  const refused = (status: number, message: RegExp) =>
    assert.rejects(fetch(), (thrown: Error & { status?: number }) => {
      assert.equal(thrown.status, status, thrown.message)
      assert.match(thrown.message, message)
      return true
    })
  await refused(400, /no inbound directory/)
  await update({ directories })
  await refused(409, /callingEnd REMOTO/)
  await update(callingEnd('INDISTINTO'))
  await update({ reception: { active: false } })
  await refused(409, /reception/)
  await update({ reception: { active: true }, deactivateChannel: true })
  await refused(409, /inactive/)
  await update({ deactivateChannel: false, direction: 'EMISION' })
  await refused(400, /EMISION/)
  await update({ direction: 'RECEPCION' })
  // An emission under way does not stand in the way of a reception, another reception does.
  const under = { channelCode: PLAIN, type: 'REMOTE' as const, requestedBy: null, retryOf: null, files: [] }
  const [sending, receiving] = [newId(1), newId(2)]
  await node.store.write((tx) => insertTransfer(tx, { ...under, id: sending, direction: 'EMISION', now: 1 }))
  await node.store.write((tx) =>
    insertTransfer(tx, { ...under, id: receiving, direction: 'RECEPCION', now: 2 }),
  )
  await refused(409, /a reception .* PENDING/)
  await node.store.write((tx) => moveTransfer(tx, receiving, { from: 'PENDING', to: 'CANCELLED', now: 3 }))
  const answers = await Promise.allSettled(Array.from({ length: 10 }, fetch))
  assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 1)
})
