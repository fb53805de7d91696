// Nodes killed at any moment while events happen and are told: every event that was committed is heard at least once,
// at most a known few twice, and none of a transaction that was taken back.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openStore } from '../../src/store/database/open.ts'
import { closeAfter, tempFolder, testOnBoth, waitFor } from '../support/harness.ts'
import { SECRET, startReceiver } from './receiver.ts'
import { startNotifier, subscribe } from './scene.ts'

const CHILD = fileURLToPath(new URL('./kill-child.ts', import.meta.url))
/** A killed node's lease runs out first, and what waits from the rounds before is told first. */
const PATIENCE_MS = 180_000
const ROUNDS = process.env.ESCLUSA_LONG === '1' ? 100 : 4
/** What may be on its way, and what may be done and not written down (webhook-runner.ts). */
const MOST_TWICE = 8 + 50

testOnBoth(
  'killed at any moment, nodes tell every event at least once and none that was taken back',
  async (t, database) => {
    const dataDir = await tempFolder(t)
    const databaseUrl = await database.create(t, dataDir)
    const store = await openStore({ dataDir, databaseUrl })
    closeAfter(t, () => store.close())
    const receiver = await startReceiver(t)
    await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
    for (let round = 0; round < ROUNDS; round++) {
      const child = spawn(process.execPath, [CHILD, JSON.stringify({ dataDir, databaseUrl, round })], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      closeAfter(t, () => Promise.resolve(void child.kill('SIGKILL')))
      await once(child.stdout, 'data')
      const before = receiver.heard.length
      // It must be at work when it is killed, at whichever of its steps.
      await waitFor('the child to tell something', () => receiver.heard.length > before + 5, PATIENCE_MS)
      await delay(Math.random() * 300)
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
    await startNotifier(t, store, { owner: 'last' })
    await waitFor(
      'everything to be told',
      async () => {
        const outbox = await store.db.selectFrom('event_outbox').select('at').limit(1).execute()
        const open = await store.db
          .selectFrom('delivery')
          .select('position')
          .where('state', '=', 'PENDING')
          .limit(1)
          .execute()
        return outbox.length === 0 && open.length === 0
      },
      PATIENCE_MS,
    )
    const events = await store.db.selectFrom('event').selectAll().orderBy('position').execute()
    const heard = Map.groupBy(receiver.heard, ({ id }) => id)
    assert.deepEqual(
      events.filter(({ id }) => !heard.has(id)).map(({ body }) => body),
      [],
    )
    assert.equal(heard.size, events.length)
    assert.ok(receiver.heard.every(({ verified, body }) => verified && !body.includes('taken back')))
    assert.ok(events.every(({ body }) => !body.includes('taken back')))
    const twice = receiver.heard.length - heard.size
    t.diagnostic(`${events.length} events, ${twice} heard twice after ${ROUNDS} kills`)
    assert.ok(twice <= ROUNDS * MOST_TWICE, `${twice} were heard twice`)
  },
)
