import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { postgres, testOnBoth, withStore } from '../../../test/support/harness.ts'
import { contactOf, seedChannel } from '../../../test/support/seed.ts'
import type { EventType } from '../../contract/event-types.ts'
import type { EventRecord } from '../../domain/event.ts'
import { newFile } from '../../transfers/request.ts'
import { removeChannels } from '../channel-batches.ts'
import { addHistory } from '../channels.ts'
import { putContact, putLocalEntity } from '../contacts.ts'
import type { Store, Tx } from '../database/store.ts'
import { acceptKeyProposal, insertKeyProposal } from '../keys/proposals.ts'
import { clearHealth, putHealth } from '../partner-health.ts'
import { makeSeal } from '../seal.ts'
import { updateFile } from '../transfers/leases.ts'
import { recordReceipt } from '../transfers/receipts.ts'
import { insertTransfer, moveTransfer } from '../transfers/transfers.ts'
import { makeEventId, positionOf } from './event-id.ts'
import { addEvent } from './outbox.ts'
import { hasNewEvents, sequenceEvents } from './sequence.ts'

const CODE = 'BANCO-ACME-NOMINA'
const NOW = 1_800_000_000_000

async function withChannel(store: Store): Promise<void> {
  const seal = makeSeal('0'.repeat(32))
  await store.write(async (tx) => {
    await putLocalEntity(tx, { code: 'BANCO', name: 'Banco', oftp2Id: null })
    await putContact(tx, contactOf('acme', 'ACME', []))
    await seedChannel(tx, seal, CODE, 'acme', {})
  })
  await take(store)
}

function take(store: Store, now = NOW, limit = 1000): Promise<EventRecord[]> {
  return store.write((tx) => sequenceEvents(tx, store.dialect, { now, limit }))
}

async function typesOf(store: Store): Promise<EventType[]> {
  return (await take(store)).map((event) => event.type)
}

function tell(tx: Tx, node: string): Promise<void> {
  return addEvent(tx, { type: 'node.stopped', at: NOW, data: { node } })
}

async function begin(store: Store, id: string): Promise<void> {
  const candidate = { directory: 0, name: 'a.txt', path: '/srv/a.txt', size: 10, modifiedAt: 1 }
  const file = { ...newFile(candidate, 0), keyDate: '20260101', keyTime: '0000000001' }
  const made = { type: 'MANUAL', requestedBy: 'ana', retryOf: null, now: NOW } as const
  await store.write((tx) =>
    insertTransfer(tx, { id, channelCode: CODE, direction: 'EMISION', ...made, files: [file] }),
  )
  await store.write((tx) => moveTransfer(tx, id, { from: 'PENDING', to: 'IN_PROGRESS', now: NOW + 1 }))
}

testOnBoth('a transfer is told from its request to its end, each step once', async (t, database) => {
  const store = await withStore(t, database)
  await withChannel(store)
  await begin(store, 't1')
  const again = { from: 'IN_PROGRESS', to: 'PENDING', now: NOW + 2 } as const
  await store.write((tx) => moveTransfer(tx, 't1', again))
  await store.write((tx) => moveTransfer(tx, 't1', { from: 'PENDING', to: 'IN_PROGRESS', now: NOW + 3 }))
  const error = { message: 'no answer', code: 'connect_failed' }
  await store.write((tx) =>
    moveTransfer(tx, 't1', { from: 'IN_PROGRESS', to: 'FAILED', now: NOW + 4, error }),
  )
  const events = await take(store)
  assert.deepEqual(
    events.map(({ type, at, channelCode, contactId }) => [type, at, channelCode, contactId]),
    [
      ['transfer.requested', NOW, CODE, 'acme'],
      ['transfer.started', NOW + 1, CODE, 'acme'],
      ['transfer.failed', NOW + 4, CODE, 'acme'],
    ],
  )
  assert.deepEqual(events[2]?.data, {
    transferId: 't1',
    direction: 'EMISION',
    type: 'MANUAL',
    requestedBy: 'ana',
    error: 'no answer',
    errorCode: 'connect_failed',
  })
})

testOnBoth('a move that does not happen, or is rolled back, is not told', async (t, database) => {
  const store = await withStore(t, database)
  await withChannel(store)
  await begin(store, 't1')
  await take(store)
  await store.write((tx) => moveTransfer(tx, 't1', { from: 'PENDING', to: 'FAILED', now: NOW }))
  await assert.rejects(
    store.write(async (tx) => {
      await moveTransfer(tx, 't1', { from: 'IN_PROGRESS', to: 'COMPLETED', now: NOW })
      throw new Error('taken back')
    }),
  )
  assert.equal(await hasNewEvents(store.db), false)
})

testOnBoth('a sent file is told once: on arrival, or with the receipt it waits for', async (t, database) => {
  const store = await withStore(t, database)
  await withChannel(store)
  const held = { id: 't1', fence: 0 }
  await begin(store, 't1')
  await take(store)
  const change = (changes: Parameters<typeof updateFile>[3]) =>
    store.write((tx) => updateFile(tx, held, 0, changes))
  await change({ phase: 'STAGED', position: 5 })
  await change({ phase: 'ARRIVED', receipt: 'AWAITED', hash: 'ab' })
  assert.deepEqual(await typesOf(store), [])
  await store.write((tx) => recordReceipt(tx, 't1', 0, { state: 'POSITIVE', reason: null }, NOW))
  const [sent] = await take(store)
  assert.deepEqual(
    [sent?.type, sent?.data],
    ['file.sent', { transferId: 't1', fileName: 'a.txt', size: 10, hash: 'sha256:ab' }],
  )
  await change({ phase: 'DONE' })
  assert.deepEqual(await typesOf(store), [])
  // Without a receipt: on arrival, and not again when its post-action is done.
  await change({ phase: 'STAGED', receipt: 'NONE' })
  await change({ phase: 'ARRIVED' })
  await change({ phase: 'DONE' })
  assert.deepEqual(await typesOf(store), ['file.sent'])
  // A receipt that is ahead of the line: with the line's own word.
  await change({ phase: 'STAGED', receipt: 'AWAITED' })
  await store.write((tx) => recordReceipt(tx, 't1', 0, { state: 'POSITIVE', reason: null }, NOW))
  assert.deepEqual(await typesOf(store), [])
  await change({ phase: 'ARRIVED' })
  assert.deepEqual(await typesOf(store), ['file.sent'])
  await change({ phase: 'STAGED', receipt: 'AWAITED' })
  await change({ phase: 'ARRIVED' })
  await store.write((tx) => recordReceipt(tx, 't1', 0, { state: 'NEGATIVE', reason: null }, NOW))
  assert.deepEqual(await typesOf(store), [])
})

testOnBoth('channels, partners and keys tell what happens to them', async (t, database) => {
  const store = await withStore(t, database)
  await withChannel(store)
  await store.write(async (tx) => {
    await addHistory(tx, CODE, [{ at: NOW, event: 'IPS_UPDATED', detail: 'by ana' }])
    await addHistory(tx, CODE, [{ at: NOW, event: 'CHANNEL_RESET' }])
    const health = { contactId: 'acme', openUntil: 0, error: 'no answer' }
    for (const failures of [1, 2, 3, 4]) await putHealth(tx, { ...health, failures }, NOW)
    await clearHealth(tx, 'acme', NOW)
    await putHealth(tx, { ...health, failures: 1 }, NOW)
    await clearHealth(tx, 'acme', NOW)
    const key = { id: 'k', contactId: 'acme', channelCode: CODE, pem: 'x', fingerprint: 'ff' }
    await insertKeyProposal(tx, { ...key, receivedAt: NOW })
    assert.equal(await acceptKeyProposal(tx, 'k', { by: 'ana', now: NOW }), true)
    assert.equal(await acceptKeyProposal(tx, 'k', { by: 'ana', now: NOW }), false)
    await removeChannels(tx, [CODE], { at: NOW, detail: 'by apply' })
  })
  assert.deepEqual(await typesOf(store), [
    'channel.updated',
    'partner.unreachable',
    'partner.reachable',
    'key.proposed',
    'key.accepted',
    'channel.removed',
  ])
})

testOnBoth(
  'positions have no gap, ids sort as they do, even when the clock goes back',
  async (t, database) => {
    const store = await withStore(t, database)
    const seen: EventRecord[] = []
    for (const [turn, now] of [NOW, NOW - 60_000, NOW + 1].entries()) {
      await store.write(async (tx) => {
        for (let nth = 0; nth < 3; nth++) await tell(tx, `${turn} ${nth}`)
      })
      seen.push(...(await take(store, now, 2)), ...(await take(store, now, 2)))
    }
    assert.deepEqual(
      seen.map(({ position }) => position),
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    )
    const ids = seen.map(({ id }) => id)
    assert.deepEqual(ids.toSorted(), ids)
    assert.deepEqual(
      ids.map(positionOf),
      seen.map(({ position }) => position),
    )
  },
)

// SQLite's writers take turns.
test(
  'nobody misses an event whose transaction commits after a later one',
  { skip: postgres.skip ?? false },
  async (t) => {
    const store = await withStore(t, postgres)
    const late = Promise.withResolvers<void>()
    const written = Promise.withResolvers<void>()
    const slow = store.write(async (tx) => {
      await tell(tx, 'first to be written, last to be committed')
      written.resolve()
      await late.promise
    })
    await written.promise
    await store.write((tx) => tell(tx, 'committed at once'))
    assert.deepEqual(
      (await take(store)).map(({ position }) => position),
      [1],
    )
    late.resolve()
    await slow
    const [after] = await take(store)
    assert.equal(after?.position, 2)
  },
)

testOnBoth('of several nodes that give out positions each event gets one', async (t, database) => {
  const store = await withStore(t, database)
  await store.write(async (tx) => {
    for (let nth = 0; nth < 60; nth++) await tell(tx, String(nth))
  })
  const taken = await Promise.all(Array.from({ length: 6 }, () => take(store, NOW, 10)))
  const nodes = taken.flat().toSorted((a, b) => a.position - b.position)
  assert.deepEqual(
    nodes.map(({ position, data }) => [position, data]),
    Array.from({ length: 60 }, (_, nth) => [nth + 1, { node: String(nth) }]),
  )
  assert.equal(await hasNewEvents(store.db), false)
})

test('an event id tells its position', () => {
  const times = fc.integer({ min: 0, max: 2 ** 48 - 1 })
  const positions = fc.integer({ min: 1, max: 2 ** 42 - 1 })
  fc.assert(
    fc.property(times, positions, (at, position) => {
      const id = makeEventId(at, position)
      assert.equal(positionOf(id), position)
      assert.ok(id < makeEventId(at, position + 1) || position === 2 ** 42 - 1)
    }),
  )
  assert.equal(positionOf('0190f0c4-a5b1-4000-8000-000000000000'), undefined)
  assert.equal(positionOf('17'), undefined)
})
