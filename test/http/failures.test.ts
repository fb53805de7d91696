// A failure stays one, whatever the other direction does: the status, the retry, the reset and the console's view of it.

import assert from 'node:assert/strict'
import { readFile, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createClient } from '../../sdk/index.ts'
import type { TransferDirection, TransferStatus, TransferType } from '../../src/contract/transfer.ts'
import { PARKED } from '../../src/domain/transfer.ts'
import { hashFile } from '../../src/files/hash.ts'
import { newId } from '../../src/store/database/ids.ts'
import { rememberSent } from '../../src/store/transfers/sent-files.ts'
import { insertTransfer, moveTransfer } from '../../src/store/transfers/transfers.ts'
import { callPlatform } from '../support/call.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestDatabase, TestNode } from '../support/harness.ts'
import { PLAIN } from '../support/seed.ts'
import type { TestContext } from 'node:test'

const ERROR = { message: 'the line broke', code: 'connection_lost' }

type Left = { direction?: TransferDirection; type?: TransferType; files?: string[] }

/** A node whose clock goes on with every step, so that what ended last is never a matter of luck. */
async function scene(t: TestContext, database: TestDatabase) {
  const node = await startTestHttp(t, { database })
  let now = Date.now()
  node.context.now = () => ++now
  const move = (id: string, from: TransferStatus, to: TransferStatus) =>
    node.store.write((tx) =>
      moveTransfer(tx, id, { from, to, now: ++now, dueAt: PARKED, ...(to === 'FAILED' && { error: ERROR }) }),
    )
  const leave = async (state: TransferStatus, { direction = 'EMISION', type = 'MANUAL' }: Left = {}) => {
    const id = newId(++now)
    const made = { id, channelCode: PLAIN, direction, type, requestedBy: null, retryOf: null }
    await node.store.write((tx) => insertTransfer(tx, { ...made, now, files: [] }))
    if (state !== 'PENDING') await move(id, 'PENDING', 'IN_PROGRESS')
    if (state !== 'PENDING' && state !== 'IN_PROGRESS') await move(id, 'IN_PROGRESS', state)
    return id
  }
  /** As the engine leaves it when the partner has the file. */
  const complete = async (id: string, path: string) => {
    await move(id, 'PENDING', 'IN_PROGRESS')
    const hash = await hashFile(path)
    const { length: size } = await readFile(path)
    await node.store.write(async (tx) => {
      const files = tx.updateTable('transfer_file').where('transfer_id', '=', id)
      await files.set({ phase: 'DONE', hash }).execute()
      await rememberSent(tx, { channelCode: PLAIN, name: basename(path), hash, size })
    })
    await move(id, 'IN_PROGRESS', 'COMPLETED')
  }
  const { platform } = createClient({ url: node.url, token: await node.token('globaladmin') })
  return { node, move, leave, complete, platform, ...asked(node) }
}

function asked(node: TestNode) {
  const at = { as: 'operator', code: PLAIN }
  return {
    send: () => node.call('sendTransfer', at),
    retry: () => node.call('retryTransfer', at),
    reset: () => node.call('resetChannel', at),
    status: async () => (await node.call('channelStatus', at)).body[0]['channel-status'] as string,
    put: async (name: string) => {
      const path = join(node.files, 'out', name)
      await writeFile(path, name)
      await utimes(path, 1_700_000_000, 1_700_000_000)
      return path
    },
  }
}

const RECEIVED: Left = { direction: 'RECEPCION', type: 'REMOTE' }
const FETCHED: Left = { direction: 'RECEPCION', type: 'AUTOMATIC' }

testOnBoth(
  'an upload by the partner does not hide a failed emission, which is retried',
  async (t, database) => {
    const { leave, status, retry, platform } = await scene(t, database)
    const failed = await leave('FAILED')
    await leave('COMPLETED', RECEIVED)
    assert.equal(await status(), 'ERROR')
    assert.equal((await platform.overview()).channels.byStatus.ERROR, 1)
    assert.equal((await platform.searchChannels({ status: 'ERROR' })).content[0]?.code, PLAIN)
    const [shown] = (await platform.failedTransfers({})).content
    assert.deepEqual([shown?.transferId, shown?.retry], [failed, 'POSSIBLE'])
    const { status: code, body } = await retry()
    assert.deepEqual([code, body.type, body.direction, body.status], [200, 'RETRY', 'EMISION', 'PENDING'])
    assert.equal(
      (await platform.transferFacts({ channelCode: PLAIN, transferId: body.transferId })).retryOf,
      failed,
    )
  },
)

testOnBoth('each direction clears its own error alone', async (t, database) => {
  const { leave, status, platform } = await scene(t, database)
  const agree = async (expected: string) => {
    assert.equal(await status(), expected)
    const [row] = (await platform.searchChannels({ search: PLAIN })).content
    assert.equal(row?.status, expected)
  }
  await agree('IDLE')
  await leave('FAILED', RECEIVED)
  await agree('ERROR')
  await leave('COMPLETED')
  await agree('ERROR')
  await leave('FAILED')
  await leave('COMPLETED', RECEIVED)
  await agree('ERROR')
  await leave('COMPLETED')
  await agree('IDLE')
})

testOnBoth(
  'retry takes the latest failure that can be retried from here, then the one before it',
  async (t, database) => {
    const { leave, move, retry, platform } = await scene(t, database)
    const first = await leave('FAILED')
    const second = await leave('FAILED', FETCHED)
    const theirs = await leave('FAILED', RECEIVED)
    await leave('COMPLETED')
    await leave('COMPLETED', FETCHED)
    const answers = async () =>
      Object.fromEntries(
        (await platform.failedTransfers({ size: 10 })).content.map((one) => [one.transferId, one.retry]),
      )
    assert.deepEqual(await answers(), { [first]: 'SUPERSEDED', [second]: 'POSSIBLE', [theirs]: 'PARTNER' })
    const again = (await retry()).body
    assert.deepEqual([again.direction, again.type], ['RECEPCION', 'RETRY'])
    assert.deepEqual(await answers(), { [first]: 'POSSIBLE', [second]: 'HANDLED', [theirs]: 'PARTNER' })
    assert.equal((await retry()).body.direction, 'EMISION')
    const none = await retry()
    assert.equal(none.status, 409)
    assert.match(none.body.message, new RegExp(`${theirs} was started by the partner: only the partner can`))
    await move(again.transferId, 'PENDING', 'FAILED')
    const once = (await retry()).body
    assert.deepEqual([once.direction, once.type], ['RECEPCION', 'RETRY'])
  },
)

testOnBoth('a retry with nothing to take says what the last transfers were', async (t, database) => {
  const { leave, retry, reset, status } = await scene(t, database)
  const message = async () => {
    const answer = await retry()
    assert.equal(answer.status, 409)
    return answer.body.message as string
  }
  const nothing = `there is nothing to retry on channel ${PLAIN}: `
  assert.equal(await message(), `${nothing}it has no transfer that ended`)
  const sent = await leave('COMPLETED')
  assert.equal(await message(), `${nothing}the last emission, ${sent}, is COMPLETED`)
  const got = await leave('COMPLETED', RECEIVED)
  assert.equal(
    await message(),
    `${nothing}the last emission, ${sent}, is COMPLETED; the last reception, ${got}, is COMPLETED`,
  )
  const failed = await leave('FAILED')
  await reset()
  assert.equal(await status(), 'IDLE')
  assert.match(
    await message(),
    new RegExp(`the last emission, ${failed}, is FAILED and was retried or reset already`),
  )
})

testOnBoth('a reset clears every failure before it, of both directions', async (t, database) => {
  const { leave, retry, reset, status, platform } = await scene(t, database)
  for (const kind of [{}, FETCHED, RECEIVED, {}]) await leave('FAILED', kind)
  await leave('COMPLETED')
  assert.equal((await reset()).body['channel-status'], 'IDLE')
  assert.equal(await status(), 'IDLE')
  assert.equal((await retry()).status, 409)
  const { content } = await platform.failedTransfers({ size: 10 })
  assert.deepEqual(
    content.map((one) => one.retry),
    ['HANDLED', 'HANDLED', 'HANDLED', 'HANDLED'],
  )
})

testOnBoth('a failure whose file was sent since is not sent twice', async (t, database) => {
  const { node, move, complete, put, send, retry } = await scene(t, database)
  const path = await put('a.txt')
  await move((await send()).body.transferId, 'PENDING', 'FAILED')
  await complete((await send()).body.transferId, path)
  const refused = await retry()
  assert.equal(refused.status, 409)
  assert.match(refused.body.message, /a\.txt was sent by another transfer since/)
  await node.call('updateChannel', { code: PLAIN, body: { allowSendDuplicateFiles: true } })
  assert.equal((await retry()).status, 200)
})

testOnBoth(
  'a failed resend is retried: what was sent before it does not count, what was sent since does',
  async (t, database) => {
    const { node, move, complete, put, send, retry } = await scene(t, database)
    const path = await put('a.txt')
    const resend = async (of: string) => {
      const params = { channelCode: PLAIN, transferId: of }
      const given = { params, body: { comment: 'they lost it' } }
      const answer = await callPlatform(node, 'resendTransfer', 'operator', given)
      assert.equal(answer.status, 200, answer.text)
      return answer.body.transferId as string
    }
    const original = (await send()).body.transferId
    await complete(original, path)
    await move(await resend(original), 'PENDING', 'FAILED')
    const again = await retry()
    assert.deepEqual([again.status, again.body.type], [200, 'RETRY'], again.text)
    await move(again.body.transferId, 'PENDING', 'FAILED')
    const third = await retry()
    assert.deepEqual([third.status, third.body.type], [200, 'RETRY'], 'a failed retry of it')
    await move(third.body.transferId, 'PENDING', 'FAILED')

    await complete(await resend(original), path)
    const refused = await retry()
    assert.equal(refused.status, 409)
    assert.match(refused.body.message, /a\.txt was sent by another transfer since/)
  },
)

testOnBoth(
  'a failure whose file is known as sent, and nobody knows by what, is not sent twice',
  async (t, database) => {
    const { node, move, put, send, retry } = await scene(t, database)
    const path = await put('a.txt')
    await move((await send()).body.transferId, 'PENDING', 'FAILED')
    const hash = await hashFile(path)
    // As after a restore, which brings the memory over and not the transfer.
    await node.store.write((tx) => rememberSent(tx, { channelCode: PLAIN, name: 'a.txt', hash, size: 5 }))
    assert.equal((await retry()).status, 409)
  },
)
