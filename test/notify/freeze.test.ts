// A node that is frozen while it posts to a webhook, for longer than its lease, and woken when another has gone on.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { openStore } from '../../src/store/database/open.ts'
import { NodeProcess } from '../crash/node-process.ts'
import { closeAfter, postgres, tempFolder, waitFor } from '../support/harness.ts'
import { MASTER_KEY, happen, startNotifier, subscribe } from './scene.ts'
import { SECRET, startReceiver } from './receiver.ts'
import type { Heard } from './receiver.ts'

const { skip = false } = postgres

const detail = ({ event }: Heard) => ('detail' in event.data ? event.data.detail : undefined)

/** The process does nothing more when this returns. */
function freeze(node: NodeProcess): void {
  node.signal('SIGSTOP')
  while (!/\) T /.test(readFileSync(`/proc/${node.pid}/stat`, 'utf8')));
}

async function scene(t: TestContext) {
  const dataDir = await tempFolder(t)
  const databaseUrl = (await postgres.create(t, dataDir, 'started')) ?? ''
  const store = await openStore({ dataDir, databaseUrl })
  closeAfter(t, () => store.close())
  const receiver = await startReceiver(t)
  await subscribe(store, 'hook', { webhook: { url: receiver.url }, events: ['channel.updated'] }, [SECRET])
  const node = await NodeProcess.start({
    ESCLUSA_DATA_DIR: dataDir,
    ESCLUSA_DATABASE_URL: databaseUrl,
    ESCLUSA_PORT: '0',
    ESCLUSA_MASTER_KEY: MASTER_KEY,
    ESCLUSA_WEBHOOK_NETWORKS: '127.0.0.0/8',
    ESCLUSA_LEASE_SECONDS: '2',
  })
  closeAfter(t, () => node.kill())
  const delivery = () => store.db.selectFrom('delivery').selectAll().orderBy('position')
  return { store, receiver, node, delivery }
}

test('a node that was frozen posts nothing that another has posted meanwhile', { skip }, async (t) => {
  const { store, receiver, node, delivery } = await scene(t)
  receiver.answer = (_, nth) => {
    if (nth === 1) freeze(node)
    return {}
  }
  await happen(
    store,
    Array.from({ length: 10 }, () => 'A-B-C'),
  )
  await waitFor('the first post', () => receiver.heard.length === 1)
  const other = await startNotifier(t, store, { owner: 'other' })
  await waitFor('the other to post all', async () =>
    (await delivery().execute()).every(({ state }) => state === 'DELIVERED'),
  )
  await other.stop()
  node.signal('SIGCONT')
  await happen(store, ['A-B-C'], 10)
  await waitFor('the next one', () => receiver.heard.some((heard) => detail(heard) === '10'))
  // The first may have come twice: nobody knows what became of it.
  assert.deepEqual(
    receiver.heard.map(detail),
    [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((nth) => String(nth)),
  )
})

test('a failure that a frozen node notes late takes back no attempt of another', { skip }, async (t) => {
  const { store, receiver, node, delivery } = await scene(t)
  receiver.answer = (_, nth) => {
    if (nth === 1) freeze(node)
    return { status: nth <= 3 ? 503 : 200 }
  }
  await happen(store, ['A-B-C'])
  await waitFor('the first post', () => receiver.heard.length === 1)
  const other = await startNotifier(t, store, { owner: 'other' })
  for (const attempts of [1, 2]) {
    await waitFor(
      'the other to note a failure',
      async () => (await delivery().executeTakeFirst())?.attempts === attempts,
    )
    await store.write((tx) =>
      tx.updateTable('delivery').set({ due_at: 0 }).where('state', '=', 'PENDING').execute(),
    )
    if (attempts === 2) await other.stop()
  }
  node.signal('SIGCONT')
  await waitFor('the delivery', async () => (await delivery().executeTakeFirst())?.state === 'DELIVERED')
  const row = await delivery().executeTakeFirstOrThrow()
  const tries = JSON.parse(row.tries) as { status: number }[]
  assert.deepEqual([row.attempts, tries.map(({ status }) => status)], [3, [503, 503, 200]])
})
