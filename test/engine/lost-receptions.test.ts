// How receptions end, and that whoever has lost one writes nothing of it.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import { endReception, restReception } from '../../src/engine/receiving/end-reception.ts'
import { proposeKey } from '../../src/engine/receiving/propose-key.ts'
import { makeTransferPlan, snapshotOf } from '../../src/engine/transfer-plan.ts'
import { NodeError } from '../../src/errors.ts'
import { makeTestKey } from '../support/cms-keys.ts'
import { CODE, channelOf, startRig } from './rig.ts'
import { offerOf } from './wire.ts'

/** One that is under way, as its holder knows it, and what is told of it from now on. */
async function underWay(t: TestContext, change: Channel = {}) {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig, change))
  await rig.host().offer(offerOf('a.txt', { size: 1, restartFrom: 1 }))
  const { id } = await rig.store.db.selectFrom('transfer').select('id').executeTakeFirstOrThrow()
  const transfer = await rig.transfer(id)
  const told: string[] = []
  const stopping = new AbortController()
  const context = { ...rig.context, stopping: stopping.signal, publish: () => void told.push('told') }
  const plan = await makeTransferPlan(rig.store.db, rig.context.seal, snapshotOf(await rig.channel()))
  const held = { id, fence: transfer.fence }
  const running = { context, transfer, held, plan, signal: stopping.signal, unsaid: [] }
  const state = async () => (await rig.transfer(id)).state
  return { rig, running, told, stopping, state }
}

test('who has lost a reception neither completes it, fails it nor lets it rest, and tells nobody', async (t) => {
  const { rig, running, told, state } = await underWay(t)
  const lost = { ...running, held: { ...running.held, fence: running.held.fence - 1 } }
  const before = await rig.history()
  await assert.rejects(endReception(lost, undefined), { code: 'lease_lost' })
  await endReception(lost, { reason: new NodeError('no_space', 'the disk is full') })
  await restReception(lost, 'the disk is full')
  for (const code of ['lease_lost', 'cancelled'] as const)
    await endReception(running, { reason: new NodeError(code, 'it is another’s now') })
  assert.deepEqual([await state(), told, await rig.history()], ['IN_PROGRESS', [], before])
})

test('a reception whose database does not answer is left for the next claim, unless the node stops', async (t) => {
  const { running, told, stopping, state } = await underWay(t)
  const unavailable = { reason: new NodeError('unavailable', 'no answer') }
  await endReception(running, unavailable)
  assert.deepEqual([await state(), told], ['IN_PROGRESS', []])
  stopping.abort()
  await endReception(running, unavailable)
  assert.deepEqual([await state(), told], ['FAILED', ['told']])
})

test('a reception rests for a minute at the most', async (t) => {
  const { rig, running, told, state } = await underWay(t)
  const context = { ...running.context, now: () => 1_000_000 }
  await restReception(
    { ...running, context, transfer: { ...running.transfer, attempts: 30 } },
    'the disk is full',
  )
  const { attempts, dueAt, error } = await rig.transfer(running.held.id)
  assert.deepEqual([attempts, dueAt, error], [31, 1_060_000, 'the disk is full'])
  assert.deepEqual([await state(), told], ['IN_PROGRESS', ['told']])
})

test('a key is proposed by whoever holds the reception alone', async (t) => {
  const security = { rsaRemoteKey: (await makeTestKey('theirs')).certificatePem }
  const { rig, running } = await underWay(t, { keyExchangeChannel: true, security })
  const path = join(rig.place.root, 'key.pem')
  await writeFile(path, security.rsaRemoteKey)
  const [file] = running.transfer.files
  assert.ok(file)
  const lost = { ...running, held: { ...running.held, fence: running.held.fence - 1 } }
  await assert.rejects(proposeKey(lost, file, path), { code: 'lease_lost' })
  assert.deepEqual(await rig.store.db.selectFrom('key_proposal').selectAll().execute(), [])
})
