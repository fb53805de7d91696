// The event stream of a whole node: stored events with their ids, and going on after the last one that was seen.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { BASE_PATH } from '../../src/contract/operations.ts'
import { addEvent } from '../../src/store/events/outbox.ts'
import { makeEventId } from '../../src/store/events/event-id.ts'
import { startTestNode, testOnBoth, waitFor } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { CLOSED, PLAIN } from '../support/seed.ts'

type Message = { id?: string; event?: string; data?: string }

async function open(t: TestContext, node: TestNode, user = 'admin', lastId?: string) {
  const stop = new AbortController()
  t.after(() => stop.abort())
  const response = await fetch(`${node.url}${BASE_PATH}/events`, {
    headers: {
      authorization: `Bearer ${await node.token(user)}`,
      ...(lastId !== undefined && { 'last-event-id': lastId }),
    },
    signal: stop.signal,
  })
  const messages: Message[] = []
  const reading = (async () => {
    if (!response.body) return
    let rest = ''
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
      rest += part
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks.filter((one) => !one.startsWith(':')))
        messages.push(
          Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2))) as Message,
        )
    }
  })().catch(() => {})
  const stored = () => messages.filter(({ id }) => id !== undefined)
  return { response, messages, stored, close: () => (stop.abort(), reading) }
}

async function happen(node: TestNode, count: number, channelCode = PLAIN): Promise<void> {
  await node.store.write(async (tx) => {
    for (let nth = 0; nth < count; nth++)
      await addEvent(tx, {
        type: 'channel.updated',
        at: Date.now(),
        channelCode,
        data: { detail: String(nth) },
      })
  })
  node.context.wake({ kind: 'due' })
}

testOnBoth(
  'a reader that was cut off goes on after the last event it has, without a gap or a repetition',
  async (t, database) => {
    const node = await startTestNode(t, { database })
    const first = await open(t, node)
    await happen(node, 3)
    await waitFor(
      'three events',
      () => first.stored().filter(({ event }) => event === 'channel.updated').length === 3,
    )
    const last = first.stored().at(-1)
    await first.close()
    // More than a stream keeps in memory.
    for (let round = 0; round < 3; round++) await happen(node, 500)
    const second = await open(t, node, 'admin', last?.id ?? '')
    await waitFor('all that was missed', () => second.stored().length >= 1500)
    await happen(node, 2)
    await waitFor('what comes now', () => second.stored().length >= 1502)
    assert.equal(
      second.messages.find(({ event }) => event === 'gap'),
      undefined,
    )
    const ids = second.stored().map(({ id = '' }) => id)
    assert.equal(new Set(ids).size, 1502)
    assert.deepEqual(ids.toSorted(), ids)
    assert.ok((ids[0] ?? '') > (last?.id ?? ''))
    const data = JSON.parse(second.stored()[0]?.data ?? '{}') as { id: string; channel: string }
    assert.deepEqual([data.id, data.channel], [ids[0], PLAIN])
  },
)

test('without an id the stream begins with what happens next', async (t) => {
  const node = await startTestNode(t)
  await happen(node, 5)
  const updates = node.store.db.selectFrom('event').selectAll().where('type', '=', 'channel.updated')
  await waitFor('the events', async () => (await updates.execute()).length === 5)
  const stream = await open(t, node)
  await happen(node, 1)
  const heard = () => stream.stored().filter(({ event }) => event === 'channel.updated')
  await waitFor('one event', () => heard().length > 0)
  assert.equal(heard().length, 1)
})

test('a stream has only what its user may see, and says when something is no longer kept', async (t) => {
  const node = await startTestNode(t)
  await happen(node, 1, CLOSED)
  await happen(node, 1, PLAIN)
  await waitFor('the events', async () => {
    const rows = await node.store.db.selectFrom('event').selectAll().execute()
    return rows.filter(({ type }) => type === 'channel.updated').length === 2
  })
  await node.store.write((tx) => tx.deleteFrom('event').where('position', '<=', 2).execute())
  const stream = await open(t, node, 'advoperator', makeEventId(1, 1))
  await waitFor('the open channel’s event', () =>
    stream.stored().some(({ event }) => event === 'channel.updated'),
  )
  assert.equal(stream.messages[0]?.event, 'gap')
  assert.deepEqual(
    stream
      .stored()
      .filter(({ event }) => event === 'channel.updated')
      .map(({ data }) => (JSON.parse(data ?? '') as { channel: string }).channel),
    [PLAIN],
  )
  assert.equal((await open(t, node, 'admin', 'nonsense')).response.status, 400)
})

testOnBoth(
  'a reader of events that the database does not know is told of a gap and gets all that is kept',
  async (t, database) => {
    const node = await startTestNode(t, { database })
    await happen(node, 3)
    const kept = async () => (await node.store.db.selectFrom('event').selectAll().execute()).length
    await waitFor('the events', async () => (await kept()) >= 3)
    for (const unknown of [makeEventId(1, 5000), makeEventId(1, 2)]) {
      const stream = await open(t, node, 'admin', unknown)
      await waitFor('all that is kept', async () => stream.stored().length >= (await kept()))
      assert.equal(stream.messages[0]?.event, 'gap')
      assert.equal(stream.messages.filter(({ event }) => event === 'gap').length, 1)
      await stream.close()
    }
  },
)
