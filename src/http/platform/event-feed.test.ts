import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqlite, waitFor, withStore } from '../../../test/support/harness.ts'
import { zoneOf } from '../../domain/time.ts'
import { takeEvents } from '../../notify/take-events.ts'
import { addEvent } from '../../store/events/outbox.ts'
import { EventFeed } from './event-feed.ts'

test('streams that come after the last one left in the middle of a look hear what other nodes take', async (t) => {
  const store = await withStore(t, sqlite)
  const happen = async (at: number) => {
    await store.write((tx) => addEvent(tx, { type: 'node.stopped', at, data: { node: 'one' } }))
    await takeEvents(store, zoneOf('UTC'), at)
  }
  await happen(1)
  let held: Promise<void> | undefined
  let [reading, read] = [0, 0]
  const db = store.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      reading += 1
      await held
      read += 1
      return result
    },
  })
  const feed = new EventFeed({ ...store, db })
  const leave = await feed.join(() => {})
  await happen(2)
  const { promise, resolve } = Promise.withResolvers<void>()
  held = promise
  const before = reading
  feed.poke()
  await waitFor('the look to read', () => reading > before)
  leave()
  resolve()
  await waitFor('the look to end', () => read === reading)
  let woken = 0
  t.after(await feed.join(() => (woken += 1)))
  assert.equal(feed.position, 2)
  // Nobody pokes: it is for the clock.
  await happen(3)
  await waitFor('the event', () => woken > 0)
  assert.equal(feed.position, 3)
})
