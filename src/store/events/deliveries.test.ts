import assert from 'node:assert/strict'
import { CompiledQuery } from 'kysely'
import type { RootOperationNode } from 'kysely'
import { test } from 'node:test'
import { sqlite, testOnBoth, withStore } from '../../../test/support/harness.ts'
import {
  addDeliveries,
  countWaiting,
  dueDeliveries,
  findDeliveries,
  giveUpWaiting,
  lanesHeld,
  recordOutcome,
  releaseWaiting,
  sendAgain,
  subscriptionsDue,
} from './deliveries.ts'
import { addEvent } from './outbox.ts'
import { sequenceEvents } from './sequence.ts'
import { putSubscription, switchOff } from './subscriptions.ts'

test('deliveries that are still to be made are found without going through all of them', async (t) => {
  const store = await withStore(t, sqlite)
  const nodes: RootOperationNode[] = []
  const watch = {
    transformQuery({ node }: { node: RootOperationNode }) {
      nodes.push(node)
      return node
    },
    transformResult: async <R>({ result }: { result: R }) => result,
  }
  const db = store.db.withPlugin(watch)
  await subscriptionsDue(db, 1)
  await dueDeliveries(db, 'hook', { now: 1, limit: 10 })
  await countWaiting(db, ['hook'])
  await lanesHeld(db, 'hook', 1)
  await store.write(async (tx) => {
    await releaseWaiting(tx.withPlugin(watch), 'hook', { after: 1, now: 1 })
    await giveUpWaiting(tx.withPlugin(watch), 'hook', 1)
  })
  assert.equal(nodes.length, 6)
  for (const node of nodes) {
    const { sql, parameters } = store.db.getExecutor().compileQuery(node, { queryId: 'plan' })
    // A plan that needs a value is made anew at every run.
    const unknown = parameters.map(() => null)
    const { rows } = await store.db.executeQuery(CompiledQuery.raw(`explain query plan ${sql}`, unknown))
    assert.match(JSON.stringify(rows), /INDEX delivery_pending/, sql)
  }
})

testOnBoth(
  'what was given up stays so until it is sent again, and what is due keeps its turn',
  async (t, database) => {
    const store = await withStore(t, database)
    const key = { subscriptionId: 'hook', position: 1 }
    await store.write(async (tx) => {
      await putSubscription(tx, {
        id: 'hook',
        settings: { events: ['*'], webhook: { url: 'https://a.example' } },
        secrets: '',
      })
      for (const node of ['one', 'two']) await addEvent(tx, { type: 'node.stopped', at: 1, data: { node } })
      const events = await sequenceEvents(tx, store.dialect, { now: 1, limit: 10 })
      for (const [at, event] of events.entries())
        await addDeliveries(tx, [{ subscriptionId: 'hook', event }], 10 + at)
      await releaseWaiting(tx, 'hook', { after: 10, now: 5 })
    })
    const all = async () =>
      (await findDeliveries(store.db, {}, 10)).map((one) => [one.position, one.state, one.dueAt, one.endedAt])
    assert.deepEqual(await all(), [
      [2, 'PENDING', 5, null],
      [1, 'PENDING', 10, null],
    ])
    assert.deepEqual(await subscriptionsDue(store.db, 20), ['hook'])
    await store.write((tx) => switchOff(tx, 'hook', 20, 'gone'))
    assert.deepEqual(await subscriptionsDue(store.db, 20), [])
    await store.write(async (tx) => {
      await giveUpWaiting(tx, 'hook', 30)
      // Its attempt was under way meanwhile.
      await recordOutcome(tx, { ...key, state: 'PENDING', attempts: 1, dueAt: 40, tries: [], at: 35 })
    })
    const givenUp = [2, 'FAILED', 5, 30]
    assert.deepEqual(await all(), [givenUp, [1, 'FAILED', 10, 30]])
    await store.write((tx) => sendAgain(tx, key, 50))
    assert.deepEqual(await all(), [givenUp, [1, 'PENDING', 50, null]])
  },
)
