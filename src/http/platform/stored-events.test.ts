import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sqlite, waitFor, withStore } from '../../../test/support/harness.ts'
import { zoneOf } from '../../domain/time.ts'
import { takeEvents } from '../../notify/take-events.ts'
import { addEvent } from '../../store/events/outbox.ts'
import { EventFeed } from './event-feed.ts'
import { sendStored } from './stored-events.ts'

const EVENTS = 20

test('a reader for whom the buffer is full again and again leaves no listeners on the stream', async (t) => {
  const store = await withStore(t, sqlite)
  const zone = zoneOf('UTC')
  await store.write(async (tx) => {
    for (let nth = 0; nth < EVENTS; nth++)
      await addEvent(tx, { type: 'node.stopped', at: nth, data: { node: 'one' } })
  })
  await takeEvents(store, zone, EVENTS)
  // One event fills it until it is read.
  const stream = new PassThrough({ highWaterMark: 1, encoding: 'utf8' })
  let drains = 0
  const listeners = () => ['drain', 'close', 'error'].map((name) => stream.listenerCount(name))
  stream.on('drain', () => (drains += 1))
  const before = listeners()
  const leave = await sendStored(new EventFeed(store), stream, { after: 0, sees: () => true, zone })
  t.after(leave)
  for (let nth = 0; nth < EVENTS; nth++)
    await waitFor('the next event', () => (stream.read() as string | null) ?? undefined)
  await waitFor('the last one to be taken', () => !stream.writableNeedDrain)
  assert.ok(drains > EVENTS / 2, `full ${drains} times`)
  await nextTurn()
  assert.deepEqual(listeners(), before)
})
