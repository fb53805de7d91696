// One file of a transfer is refused, and receipts are awaited for the others: what has gone is not sent again.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { NodeError } from '../../src/errors.ts'
import type { Store } from '../../src/store/database/store.ts'
import { requestSend } from '../../src/transfers/request.ts'
import { testOnBoth, waitFor } from '../support/harness.ts'
import { reachAll } from '../support/reach.ts'
import { Line } from './line.ts'
import { CODE, channelOf, startRig } from './rig.ts'
import type { Rig, RigOptions } from './rig.ts'

/** A partner that gives receipts, and refuses the files of these names. */
async function receiptRig(t: TestContext, refused: ReadonlySet<string>, more: RigOptions = {}) {
  const pushed: string[] = []
  const line = new Line({
    protocol: 'oftp2',
    capabilities: { receipts: true, remoteHash: false },
    onPush: async (push, { name }) => {
      pushed.push(name)
      if (refused.has(name)) throw new NodeError('remote_refused', 'not this one')
      return { ...(await push()), receipt: 'awaited' }
    },
  })
  const rig = await startRig(t, { ...more, transports: [line] })
  line.leadTo(rig)
  if (more.beside) return { rig: rig.run(), pushed }
  await rig.putContact({ id: 'acme', protocol: 'oftp2' })
  const connection = { ips: ['127.0.0.1'], advancedConfigurationTransmission: { downloadConf: true } }
  const integrations = { postEmisionAction: 'EMISION_DELETE' } as const
  await rig.putChannel(CODE, channelOf(rig, { connection, integrations }))
  return { rig: rig.run(), pushed }
}

async function sendAndWait(rig: Rig, names: readonly string[]): Promise<string> {
  for (const name of names) await rig.put(name, `content of ${name}`)
  const { id } = await rig.send()
  await waitFor('it waits for receipts', async () => (await rig.transfer(id)).receiptsUntil !== null)
  return id
}

async function receipt(rig: Rig, id: string, name: string, positive: boolean): Promise<void> {
  const file = (await rig.transfer(id)).files.find((one) => one.name === name)
  assert.ok(file)
  const key = { name: file.keyName, date: file.keyDate, time: file.keyTime }
  const about = { reason: 'no', reasonCode: '34', hash: undefined, signed: false }
  await rig
    .host('oftp2')
    .receipt(reachAll('acme'), { key, positive, ...about, originator: 'BANCO', destination: 'ACME' })
}

testOnBoth(
  'a refused file fails the transfer after the receipts of the others, also where another node goes on, and a retry sends it alone',
  async (t, database) => {
    const refused = new Set(['b.txt'])
    const { rig: first } = await receiptRig(t, refused, { database })
    const id = await sendAndWait(first, ['a.txt', 'b.txt', 'c.txt'])
    const waiting = await first.transfer(id)
    assert.equal(waiting.state, 'IN_PROGRESS')
    assert.match(waiting.error ?? '', /b\.txt: not this one/, 'it is known by now')
    await first.stop()
    const { rig, pushed } = await receiptRig(t, refused, { beside: first })
    await receipt(rig, id, 'a.txt', true)
    await waitFor('a.txt is done', async () => !(await rig.list('out')).includes('a.txt'))
    assert.equal((await rig.transfer(id)).state, 'IN_PROGRESS', 'one receipt is still to come')
    await receipt(rig, id, 'c.txt', true)
    const failed = await rig.ended(id)
    assert.deepEqual([failed.state, await rig.errorCode(id)], ['FAILED', 'remote_refused'])
    assert.match(failed.error ?? '', /^b\.txt: not this one$/)
    assert.deepEqual(await rig.list('out'), ['b.txt'])
    assert.deepEqual(pushed, [], 'whoever settles sends nothing')
    await rig.put('a.txt', 'content of a.txt')
    refused.clear()
    const again = await rig.retry()
    await waitFor(
      'it waits for its receipt',
      async () => (await rig.transfer(again.id)).receiptsUntil !== null,
    )
    assert.deepEqual(pushed, ['b.txt'])
    await receipt(rig, again.id, 'b.txt', true)
    assert.equal((await rig.ended(again.id)).state, 'COMPLETED')
    await assert.rejects(rig.send(), /a\.txt was sent already/, 'the confirmed one is remembered')
  },
)

test('where a receipt does not come the transfer fails by the refused file, at the deadline', async (t) => {
  const { rig } = await receiptRig(t, new Set(['b.txt']))
  const id = await sendAndWait(rig, ['a.txt', 'b.txt', 'c.txt'])
  await receipt(rig, id, 'a.txt', true)
  rig.setAhead(((await rig.transfer(id)).receiptsUntil ?? 0) - rig.context.now() + 1000)
  assert.match((await rig.ended(id)).error ?? '', /^b\.txt: not this one$/)
  assert.deepEqual((await rig.list('out')).toSorted(), ['b.txt', 'c.txt'])
})

test('a file that the partner took, and whose receipt is late, is not sent again by itself', async (t) => {
  const { rig } = await receiptRig(t, new Set())
  const id = await sendAndWait(rig, ['a.txt'])
  rig.setAhead(((await rig.transfer(id)).receiptsUntil ?? 0) - rig.context.now() + 1000)
  assert.equal((await rig.ended(id)).state, 'FAILED')
  const { store, context } = rig
  const asking = { store, fileRoots: [rig.place.files], now: context.now, requestedBy: null }
  const automatic = async () => requestSend(asking, await rig.channel(), 'AUTOMATIC')
  await assert.rejects(automatic(), /a\.txt was taken by the partner .*: retry or reset/)
  await rig.put('b.txt', 'content of b.txt')
  const { files } = await automatic()
  assert.deepEqual(
    files.map(({ name }) => name),
    ['b.txt'],
  )
  await rig.reset()
  assert.deepEqual((await automatic()).files.map(({ name }) => name).toSorted(), ['a.txt', 'b.txt'])
})

test('a negative receipt waits for those of the other files', async (t) => {
  const { rig } = await receiptRig(t, new Set())
  const id = await sendAndWait(rig, ['a.txt', 'b.txt'])
  await receipt(rig, id, 'a.txt', false)
  await receipt(rig, id, 'b.txt', true)
  const failed = await rig.ended(id)
  assert.deepEqual([failed.state, await rig.errorCode(id)], ['FAILED', 'receipt_negative'])
  assert.match(failed.error ?? '', /^a\.txt: /)
  assert.deepEqual(await rig.list('out'), ['a.txt'])
})

test('a reset ends the wait', async (t) => {
  const { rig } = await receiptRig(t, new Set(['b.txt']))
  const id = await sendAndWait(rig, ['a.txt', 'b.txt'])
  assert.deepEqual(await rig.reset(), [id])
  const { state, error } = await rig.transfer(id)
  assert.deepEqual([state, error], ['CANCELLED', 'cancelled by a reset of tester'])
})

test('a reset that comes when the files have gone leaves neither a wait nor a failure', async (t) => {
  const { rig } = await receiptRig(t, new Set(['b.txt']))
  const store = rig.context.store as { write: Store['write'] }
  const write = store.write.bind(store)
  let wasReset = false
  store.write = async (change) => {
    const file = await rig.store.db
      .selectFrom('transfer_file')
      .select('phase')
      .where('name', '=', 'a.txt')
      .executeTakeFirst()
    if (file?.phase === 'ARRIVED' && !wasReset) {
      wasReset = true
      await rig.reset(CODE, { tell: false })
    }
    return write(change)
  }
  for (const name of ['a.txt', 'b.txt']) await rig.put(name, name)
  const { id } = await rig.send()
  assert.equal((await rig.ended(id)).state, 'CANCELLED')
  await rig.stop(5000)
  const { receiptsUntil, error } = await rig.transfer(id)
  assert.deepEqual([receiptsUntil, error], [null, 'cancelled by a reset of tester'])
})
