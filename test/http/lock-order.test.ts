import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { test } from 'node:test'
import { applyPlatform } from '../../src/platform/apply.ts'
import { describePlatform } from '../../src/platform/export.ts'
import { lockChannel } from '../../src/store/channels.ts'
import type { Store } from '../../src/store/database/store.ts'
import { postgres, startTestHttp, waitFor } from '../support/harness.ts'
import { CLOSED, FULL } from '../support/seed.ts'

/** The store, and how often a write was run: one that lost a deadlock is run again. */
function counted(store: Store) {
  let runs = 0
  const write: Store['write'] = (change) =>
    store.write((tx) => {
      runs++
      return change(tx)
    })
  return { store: { ...store, write }, runs: () => runs }
}

async function waiters({ db }: Store): Promise<number> {
  const { rows } = await sql<{ count: number }>`select cast(count(*) as integer) as count
    from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows[0]?.count ?? 0
}

test(
  'an apply and a change of a channel’s users at once take their locks in one order: none is run twice',
  { skip: postgres.skip ?? false },
  async (t) => {
    const node = await startTestHttp(t, { database: postgres })
    const { store, runs } = counted(node.store)
    Object.assign(node.context, { store })
    const platform = await describePlatform(node.store.db, undefined)
    const both = await node.store.db.transaction().execute(async (tx) => {
      // The apply locks channels by code and is stopped at this one, with the last channel still to come.
      await lockChannel(tx, node.store.dialect, FULL)
      assert.ok(FULL < CLOSED)
      const applied = applyPlatform(store, node.context.seal, platform, { now: Date.now() })
      await waitFor('the apply to wait', async () => (await waiters(node.store)) === 1)
      const changed = node.call('updateChannel', { code: CLOSED, body: { users: ['adminff'] } })
      await waitFor('the change to wait too', async () => (await waiters(node.store)) === 2)
      return { applied, changed }
    })
    await both.applied
    const { status, body } = await both.changed
    assert.deepEqual([status, body.users], [200, ['adminff']])
    assert.equal(runs(), 2)
  },
)
