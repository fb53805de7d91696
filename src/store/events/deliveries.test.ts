import assert from 'node:assert/strict'
import { CompiledQuery } from 'kysely'
import type { RootOperationNode } from 'kysely'
import { test } from 'node:test'
import { sqlite, withStore } from '../../../test/support/harness.ts'
import {
  countWaiting,
  dueDeliveries,
  giveUpWaiting,
  lanesHeld,
  releaseWaiting,
  subscriptionsDue,
} from './deliveries.ts'

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
