// Operations 12 to 16: transfers listed, read, started, retried and reset, as far as rows go.

import assert from 'node:assert/strict'
import { rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TransferStatus } from '../../src/contract/transfer.ts'
import { PARKED } from '../../src/domain/transfer.ts'
import { hashFile } from '../../src/files/hash.ts'
import { newId } from '../../src/store/database/ids.ts'
import { insertTransfer, moveTransfer } from '../../src/store/transfers/transfers.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { allRows } from '../support/rows.ts'
import { FULL, PLAIN } from '../support/seed.ts'

async function put(node: TestNode, name: string, text = name): Promise<string> {
  const path = join(node.files, 'out', name)
  await writeFile(path, text)
  await utimes(path, 1_700_000_000, 1_700_000_000)
  return path
}

const move = (node: TestNode, id: string, from: TransferStatus, to: TransferStatus, now = Date.now()) =>
  node.store.write((tx) =>
    moveTransfer(tx, id, {
      from,
      to,
      now,
      dueAt: PARKED,
      ...(to === 'FAILED' && { error: { message: 'the line broke', code: 'connection_lost' } }),
    }),
  )

const send = (node: TestNode, code = PLAIN) => node.call('sendTransfer', { as: 'operator', code })
const retry = (node: TestNode, code = PLAIN) => node.call('retryTransfer', { as: 'operator', code })
const reset = (node: TestNode, code = PLAIN) => node.call('resetChannel', { as: 'operator', code })
const statusOf = async (node: TestNode, code = PLAIN) =>
  (await node.call('channelStatus', { code })).body[0]['channel-status']

testOnBoth(
  'send makes a PENDING transfer with its files, shown alike by the answer, the detail and the list',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const [a, b] = [await put(node, 'a.txt'), await put(node, 'b.txt', 'bb')]
    const { status, body } = await send(node)
    assert.equal(status, 200)
    const { transferId, ...rest } = body
    assert.match(transferId, /^[0-9a-f-]{36}$/)
    assert.deepEqual(rest, {
      channelCode: PLAIN,
      direction: 'EMISION',
      status: 'PENDING',
      type: 'MANUAL',
      encryption: false,
      files: [
        { fileName: 'a.txt', path: a, size: '5' },
        { fileName: 'b.txt', path: b, size: '2' },
      ],
    })
    assert.deepEqual((await node.call('transferDetail', { code: PLAIN, transferId })).body, body)
    assert.deepEqual((await node.call('listTransfers', { code: PLAIN, query: { size: 5 } })).body.content, [
      body,
    ])
    assert.equal(await statusOf(node), 'PENDING')
    assert.equal(
      (await node.call('channelHistory', { code: PLAIN })).body.content[0].event,
      'TRANSFER_REQUESTED',
    )
  },
)

testOnBoth(
  'a transfer shows start, end and error once it has them, with the node’s offset',
  async (t, database) => {
    const node = await startTestHttp(t, { database, settings: { ESCLUSA_TIMEZONE: 'Europe/Madrid' } })
    await put(node, 'a.txt')
    const { transferId } = (await send(node)).body
    await move(node, transferId, 'PENDING', 'IN_PROGRESS', Date.UTC(2026, 6, 1, 10))
    const running = (await node.call('transferDetail', { code: PLAIN, transferId })).body
    assert.equal(running.transferStartDateTime, '2026-07-01T12:00:00.000+02:00')
    assert.ok(!('transferEndDateTime' in running) && !('error' in running))
    assert.equal(await statusOf(node), 'IN_PROGRESS')
    await move(node, transferId, 'IN_PROGRESS', 'FAILED', Date.UTC(2026, 11, 1, 10))
    const failed = (await node.call('transferDetail', { code: PLAIN, transferId })).body
    assert.equal(failed.transferEndDateTime, '2026-12-01T11:00:00.000+01:00')
    assert.deepEqual([failed.status, failed.error], ['FAILED', 'the line broke'])
    assert.deepEqual((await node.call('listTransfers', { code: PLAIN })).body.content, [failed])
    assert.equal(await statusOf(node), 'ERROR')
  },
)

test('a transfer of another channel, an unknown one and odd ids are not found', async (t) => {
  const node = await startTestHttp(t)
  await put(node, 'a.txt')
  const { transferId } = (await send(node)).body
  for (const [code, id] of [
    [FULL, transferId],
    [PLAIN, 'none'],
    [PLAIN, 'x'.repeat(2000)],
    [PLAIN, '\0'],
    [PLAIN, "' or 1=1"],
    [PLAIN, transferId.toUpperCase()],
  ] as const)
    assert.equal((await node.call('transferDetail', { code, transferId: id })).status, 404, id)
})

testOnBoth('of twenty sends at once one starts and the others get 409', async (t, database) => {
  const node = await startTestHttp(t, { database })
  await put(node, 'a.txt')
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(node)))
  assert.deepEqual(
    answers.map((one) => one.status).sort((a, b) => a - b),
    [200, ...Array.from({ length: 19 }, () => 409)],
  )
  for (const { status, body } of answers)
    if (status === 409) assert.match(body.message, /emission .*(PENDING|pending)/)
  assert.equal((await node.call('listTransfers', { code: PLAIN })).body.totalElements, 1)
  const { content } = (await node.call('channelHistory', { code: PLAIN, query: { size: 50 } })).body
  assert.equal(content.filter((one: { event: string }) => one.event === 'TRANSFER_REQUESTED').length, 1)
})

testOnBoth('send says why not, and changes no row', async (t, database) => {
  const node = await startTestHttp(t, { database })
  const update = (body: unknown) => node.call('updateChannel', { code: PLAIN, body })
  async function refused(status: number, message: RegExp): Promise<void> {
    const before = await allRows(node.store)
    const answer = await send(node)
    assert.equal(answer.status, status, answer.text)
    assert.match(answer.body.message, message)
    assert.deepEqual(await allRows(node.store), before)
  }
  await refused(409, new RegExp(`no file to send in ${join(node.files, 'out')}`))
  const latin1 = Buffer.from(join(node.files, 'out', 'a\xf1o.txt'), 'latin1')
  await writeFile(latin1, 'x')
  await refused(409, /no file to send in .*out; 1 whose name is not UTF-8$/)
  await rm(latin1)
  await put(node, 'a.txt')
  await update({ direction: 'RECEPCION' })
  await refused(400, /RECEPCION/)
  await update({ direction: 'EMISION', directories: [{ direction: 'RECEPCION', filePath: node.files }] })
  await refused(400, /outbound directory/)
  await update({
    directories: [{ direction: 'EMISION', filePath: join(node.files, 'out') }],
    deactivateChannel: true,
  })
  await refused(409, /inactive/)
  await update({ deactivateChannel: false, emission: { active: false } })
  await refused(409, /emission.active/)
  await update({ emission: { active: true, direction: 'RECEPCION' } })
  await refused(409, /emission.direction/)
  await update({
    emission: null,
    directories: [{ filePath: join(node.files, 'out'), fileGroupsName: '*.xml' }],
  })
  await refused(409, /no file to send .*\*\.xml/)
  await update({ directories: [{ filePath: join(node.files, 'out') }] })
  assert.equal((await send(node)).status, 200)
  await refused(409, /emission/)
})

testOnBoth('receptions do not stand in the way of a send', async (t, database) => {
  const node = await startTestHttp(t, { database })
  await put(node, 'a.txt')
  const made = {
    id: newId(Date.now()),
    channelCode: PLAIN,
    direction: 'RECEPCION',
    type: 'REMOTE',
    requestedBy: null,
    retryOf: null,
  } as const
  await node.store.write((tx) => insertTransfer(tx, { ...made, now: Date.now(), files: [] }))
  assert.equal((await send(node)).status, 200)
})

testOnBoth(
  'a file already sent under the same name and hash is not sent again unless the channel allows it',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const path = await put(node, 'a.txt')
    await node.store.write(
      async (tx) =>
        void (await tx
          .insertInto('sent_file')
          .values({ channel_code: PLAIN, name: 'a.txt', hash: await hashFile(path), size: 5 })
          .execute()),
    )
    const refused = await send(node)
    assert.equal(refused.status, 409)
    assert.match(refused.body.message, /a\.txt was sent already and allowSendDuplicateFiles is false/)
    await put(node, 'b.txt')
    const { body } = await send(node)
    assert.deepEqual(
      body.files.map((file: { fileName: string }) => file.fileName),
      ['b.txt'],
    )
    await reset(node)
    await node.call('updateChannel', { code: PLAIN, body: { allowSendDuplicateFiles: true } })
    assert.equal((await send(node)).body.files.length, 2)
    await reset(node)
    await node.call('updateChannel', { code: PLAIN, body: { allowSendDuplicateFiles: null } })
    await put(node, 'a.txt', 'other')
    assert.equal((await send(node)).body.files.length, 2)
  },
)

testOnBoth(
  'retry makes a new transfer of the same files, once, after a failure alone',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const refused = async (message: RegExp) => {
      const before = await allRows(node.store)
      const answer = await retry(node)
      assert.equal(answer.status, 409, answer.text)
      assert.match(answer.body.message, message)
      assert.deepEqual(await allRows(node.store), before)
    }
    await refused(/nothing to retry/)
    const path = await put(node, 'a.txt')
    const first = (await send(node)).body
    await refused(/nothing to retry/)
    await move(node, first.transferId, 'PENDING', 'FAILED')
    await node.call('updateChannel', { code: PLAIN, body: { deactivateChannel: true } })
    await refused(/inactive/)
    await node.call('updateChannel', { code: PLAIN, body: { deactivateChannel: null } })
    await writeFile(path, 'changed meanwhile')
    await refused(/has changed/)
    await rm(path)
    await refused(/is gone/)
    await put(node, 'a.txt')
    const answers = await Promise.all(Array.from({ length: 10 }, () => retry(node)))
    assert.equal(answers.filter((one) => one.status === 200).length, 1)
    assert.equal(answers.filter((one) => one.status === 409).length, 9)
    const again = answers.find((one) => one.status === 200)?.body
    assert.notEqual(again.transferId, first.transferId)
    assert.deepEqual([again.type, again.status, again.files], ['RETRY', 'PENDING', first.files])
    const kept = (await node.call('transferDetail', { code: PLAIN, transferId: first.transferId })).body
    assert.equal(kept.status, 'FAILED')
    assert.equal(
      (await node.call('channelHistory', { code: PLAIN })).body.content[0].event,
      'TRANSFER_RETRIED',
    )
    await move(node, again.transferId, 'PENDING', 'IN_PROGRESS')
    await move(node, again.transferId, 'IN_PROGRESS', 'COMPLETED')
    await refused(/COMPLETED/)
  },
)

test('a failed reception that the partner started cannot be retried', async (t) => {
  const node = await startTestHttp(t)
  const id = newId(Date.now())
  const made = {
    id,
    channelCode: PLAIN,
    direction: 'RECEPCION',
    type: 'REMOTE',
    requestedBy: null,
    retryOf: null,
  } as const
  await node.store.write((tx) => insertTransfer(tx, { ...made, now: Date.now(), files: [] }))
  await move(node, id, 'PENDING', 'FAILED')
  const answer = await retry(node)
  assert.equal(answer.status, 409)
  assert.match(answer.body.message, /only the partner/)
})

testOnBoth(
  'a retry waits while one in the same direction is active, and another direction does not matter',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    await put(node, 'a.txt')
    const first = (await send(node)).body
    await move(node, first.transferId, 'PENDING', 'FAILED')
    const reception = {
      id: newId(Date.now()),
      channelCode: PLAIN,
      direction: 'RECEPCION',
      type: 'REMOTE',
      requestedBy: null,
      retryOf: null,
    } as const
    await node.store.write((tx) => insertTransfer(tx, { ...reception, now: Date.now(), files: [] }))
    const second = (await send(node)).body
    assert.match((await retry(node)).body.message, /same direction/)
    await move(node, second.transferId, 'PENDING', 'FAILED', Date.now() + 10)
    assert.equal((await retry(node)).status, 200)
  },
)

testOnBoth(
  'reset cancels what is pending and running, clears an error, and always answers 200 with the status',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const woken: unknown[] = []
    node.context.wake = (what) => void woken.push(what)
    const nothing = await reset(node)
    assert.equal(nothing.status, 200)
    assert.deepEqual(Object.keys(nothing.body).sort(), [
      'channel-code',
      'channel-direction',
      'channel-id',
      'channel-status',
    ])
    assert.equal(nothing.body['channel-status'], 'IDLE')
    await put(node, 'a.txt')
    const emission = (await send(node)).body.transferId
    await move(node, emission, 'PENDING', 'IN_PROGRESS')
    const reception = newId(Date.now())
    const made = {
      id: reception,
      channelCode: PLAIN,
      direction: 'RECEPCION',
      type: 'REMOTE',
      requestedBy: null,
      retryOf: null,
    } as const
    await node.store.write((tx) => insertTransfer(tx, { ...made, now: Date.now(), files: [] }))
    woken.length = 0
    assert.equal((await reset(node)).body['channel-status'], 'IDLE')
    const cancelled = [emission, reception].map((transferId) => ({ kind: 'cancelled', transferId }))
    assert.deepEqual(
      new Set(woken.map((one) => JSON.stringify(one))),
      new Set(cancelled.map((one) => JSON.stringify(one))),
    )
    for (const transferId of [emission, reception]) {
      const { body } = await node.call('transferDetail', { code: PLAIN, transferId })
      assert.equal(body.status, 'CANCELLED')
      assert.ok(body.transferEndDateTime)
    }
    const failed = (await send(node)).body.transferId
    await move(node, failed, 'PENDING', 'FAILED', Date.now() + 1000)
    assert.equal(await statusOf(node), 'ERROR')
    assert.equal((await reset(node)).body['channel-status'], 'IDLE')
    assert.equal((await retry(node)).status, 409)
    const events = (await node.call('channelHistory', { code: PLAIN, query: { size: 20 } })).body.content.map(
      (one: { event: string }) => one.event,
    )
    assert.deepEqual(events.filter((event: string) => event === 'CHANNEL_RESET').length, 3)
    assert.deepEqual(events.filter((event: string) => event === 'TRANSFER_CANCELLED').length, 2)
  },
)

testOnBoth('sends and resets at once leave at most one active transfer and no fault', async (t, database) => {
  const node = await startTestHttp(t, { database })
  await put(node, 'a.txt')
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, i) => (i % 3 === 0 ? reset(node) : send(node))),
  )
  assert.ok(answers.every((one) => one.status === 200 || one.status === 409))
  const { content } = (await node.call('listTransfers', { code: PLAIN, query: { size: 100 } })).body
  assert.ok(content.filter((one: { status: string }) => one.status === 'PENDING').length <= 1)
  assert.equal((await reset(node)).status, 200)
})

for (const [zone, offset] of [
  ['Europe/Madrid', 2],
  ['Asia/Kathmandu', 5.75],
  ['UTC', 0],
] as const)
  testOnBoth(
    `days are whole days of ${zone}, both included, by start or else by request`,
    async (t, database) => {
      const node = await startTestHttp(t, { database, settings: { ESCLUSA_TIMEZONE: zone } })
      const midnight = Date.UTC(2026, 6, 10) - offset * 3_600_000
      const times = [
        midnight - 1,
        midnight,
        midnight + 43_200_000,
        midnight + 86_399_999,
        midnight + 86_400_000,
      ]
      for (const at of times) {
        const id = newId(at)
        const made = {
          id,
          channelCode: PLAIN,
          direction: 'EMISION',
          type: 'MANUAL',
          requestedBy: null,
          retryOf: null,
        } as const
        // Asked for long before: what counts is the start.
        await node.store.write((tx) => insertTransfer(tx, { ...made, now: at - 20 * 86_400_000, files: [] }))
        await move(node, id, 'PENDING', 'IN_PROGRESS', at)
        await move(node, id, 'IN_PROGRESS', 'COMPLETED', at + 5)
      }
      const count = async (query: Record<string, string>) => {
        const { body } = await node.call('listTransfers', { code: PLAIN, query: { ...query, size: 10 } })
        assert.equal(body.totalElements, body.content.length)
        return body.totalElements
      }
      assert.equal(await count({ initialDate: '2026-07-10', endDate: '2026-07-10' }), 3)
      assert.equal(await count({ initialDate: '2026-07-09', endDate: '2026-07-09' }), 1)
      assert.equal(await count({ initialDate: '2026-07-10' }), 4)
      assert.equal(await count({ endDate: '2026-07-09' }), 1)
      assert.equal(await count({ initialDate: '2026-07-09', endDate: '2026-07-11' }), 5)
      assert.equal(await count({ initialDate: '2026-07-12' }), 0)
      assert.equal(await count({ initialDate: '0001-01-01', endDate: '9999-12-31' }), 5)
      const id = newId(midnight)
      const made = {
        id,
        channelCode: PLAIN,
        direction: 'EMISION',
        type: 'MANUAL',
        requestedBy: null,
        retryOf: null,
      } as const
      await node.store.write((tx) => insertTransfer(tx, { ...made, now: midnight + 1, files: [] }))
      assert.equal(await count({ initialDate: '2026-07-10', endDate: '2026-07-10' }), 4)
    },
  )

test('days on which clocks change have 23 and 25 hours', async (t) => {
  const node = await startTestHttp(t, { settings: { ESCLUSA_TIMEZONE: 'Europe/Madrid' } })
  for (const start of [Date.UTC(2026, 2, 28, 23), Date.UTC(2026, 9, 24, 22)])
    for (let hour = 0; hour < 26; hour++) {
      const at = start + hour * 3_600_000
      const made = {
        id: newId(at),
        channelCode: PLAIN,
        direction: 'EMISION',
        type: 'MANUAL',
        requestedBy: null,
        retryOf: null,
      } as const
      await node.store.write((tx) => insertTransfer(tx, { ...made, now: at, files: [] }))
      await move(node, made.id, 'PENDING', 'CANCELLED', at)
    }
  const count = async (day: string) =>
    (await node.call('listTransfers', { code: PLAIN, query: { initialDate: day, endDate: day } })).body
      .totalElements
  assert.deepEqual([await count('2026-03-29'), await count('2026-10-25')], [23, 25])
})

test('a date that is malformed, not real or in the wrong order is refused', async (t) => {
  const node = await startTestHttp(t)
  for (const parameter of ['initialDate', 'endDate'])
    for (const value of [
      '2026-02-30',
      '2026-13-01',
      '2026-1-1',
      '01-01-2026',
      '',
      'today',
      '2026-01-01T00:00:00Z',
      '20260101',
      '2026-01-01 ',
      '+02026-01-01',
    ])
      for (const code of [PLAIN, 'NO-SUCH-ONE']) {
        const answer = await node.call('listTransfers', { code, query: { [parameter]: value } })
        assert.equal(answer.status, 400, `${parameter}=${value}`)
        assert.match(answer.body.message, new RegExp(parameter))
      }
  const wrong = await node.call('listTransfers', {
    code: PLAIN,
    query: { initialDate: '2026-01-02', endDate: '2026-01-01' },
  })
  assert.equal(wrong.status, 400)
  assert.match(wrong.body.message, /initialDate must not be after endDate/)
})
