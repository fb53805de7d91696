import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { addEvent } from '../../src/store/events/outbox.ts'
import type { Store } from '../../src/store/database/store.ts'
import { zoneOf } from '../../src/domain/time.ts'
import { takeEvents } from '../../src/notify/take-events.ts'
import { findSubscription } from '../../src/store/events/subscriptions.ts'
import { closeAfter, sqlite, testOnBoth, waitFor, withStore } from '../support/harness.ts'
import { SECRET, startReceiver } from './receiver.ts'
import type { Heard } from './receiver.ts'
import { found, happen, startNotifier, subscribe } from './scene.ts'

const HOUR = 3_600_000

const detail = ({ event }: Heard) => ('detail' in event.data ? event.data.detail : undefined)

function deliveries(store: Store, id = 'hook') {
  return store.db
    .selectFrom('delivery')
    .selectAll()
    .where('subscription_id', '=', id)
    .orderBy('position')
    .execute()
}

/** As if the pause until the next attempt had passed. */
async function hurry(store: Store, at = 0, position?: number): Promise<void> {
  await store.write(async (tx) => {
    const all = tx.updateTable('delivery').set({ due_at: at }).where('state', '=', 'PENDING')
    await (position === undefined ? all : all.where('position', '=', position)).execute()
  })
}

testOnBoth('an event is posted once, signed as the standard has it', async (t, database) => {
  const store = await withStore(t, database)
  const receiver = await startReceiver(t)
  await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
  await startNotifier(t, store)
  await happen(store, ['A-B-C'])
  await waitFor('the delivery', async () => (await deliveries(store))[0]?.state === 'DELIVERED')
  const [heard] = receiver.heard
  assert.equal(receiver.heard.length, 1)
  assert.equal(heard?.verified, true)
  assert.equal(heard.id, heard.event.id)
  assert.equal(heard.headers['content-type'], 'application/json')
  assert.match(String(heard.headers['user-agent']), /^Esclusa\//)
  const { type, channel, data } = heard.event
  assert.deepEqual(
    { type, channel, data },
    { type: 'channel.updated', channel: 'A-B-C', data: { detail: '0' } },
  )
  const [row] = await deliveries(store)
  const [only] = JSON.parse(row?.tries ?? '[]') as { status: number; tookMs: number }[]
  assert.equal(only?.status, 200)
  assert.ok(only.tookMs >= 0)
})

for (const left of ['by a clock that was ahead', 'before the clock is set back'] as const)
  test(`a next attempt that was put far ahead ${left} is made all the same`, async (t) => {
    const store = await withStore(t, sqlite)
    const receiver = await startReceiver(t)
    await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
    const isAhead = left === 'by a clock that was ahead'
    await happen(store, ['A-B-C'])
    await takeEvents(store, zoneOf('UTC'), Date.now())
    await hurry(store, Date.now() + (isAhead ? 100 : 1) * HOUR)
    const dialect = { ...store.dialect }
    await startNotifier(t, { ...store, dialect })
    if (!isAhead) {
      // It has looked at the clock, and taken this.
      await happen(store, ['A-B-D'])
      await waitFor('the other', () => receiver.heard.length === 1, 60_000)
      dialect.now = `${dialect.now} - ${2 * HOUR}`
    }
    await waitFor('the attempt', () => receiver.heard.some(({ event }) => event.channel === 'A-B-C'), 60_000)
  })

test('with several secrets a receiver that knows any of them is content; one that knows none is not', async (t) => {
  const store = await withStore(t, sqlite)
  const fresh = `whsec_${Buffer.from('another secret of 32 octets here').toString('base64')}`
  const stranger = `whsec_${Buffer.from('a secret that nobody gave anyone').toString('base64')}`
  const receivers = [
    await startReceiver(t, SECRET),
    await startReceiver(t, fresh),
    await startReceiver(t, stranger),
  ]
  for (const [nth, { url }] of receivers.entries())
    await subscribe(store, `hook${nth}`, { webhook: { url } }, [SECRET, fresh])
  await startNotifier(t, store)
  await happen(store, ['A-B-C'])
  await waitFor('all three', () => receivers.every(({ heard }) => heard.length === 1))
  assert.deepEqual(
    receivers.map(({ heard }) => heard[0]?.verified),
    [true, true, false],
  )
})

test('where an Ed25519 key is given the event carries its signature too', async (t) => {
  const store = await withStore(t, sqlite)
  const receiver = await startReceiver(t)
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url')
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  const key = `whsk_${Buffer.concat([seed, raw]).toString('base64')}`
  await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET, key])
  await startNotifier(t, store)
  await happen(store, ['A-B-C'])
  const heard = await found('the event', () => receiver.heard[0])
  assert.equal(heard.verified, true)
  const signatures = String(heard.headers['webhook-signature']).split(' ')
  const [, signature = ''] = signatures.find((one) => one.startsWith('v1a,'))?.split(',') ?? []
  const content = Buffer.from(`${heard.id}.${String(heard.headers['webhook-timestamp'])}.${heard.body}`)
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }
  const published = createPublicKey({ key: jwk, format: 'jwk' })
  assert.ok(verify(null, content, published, Buffer.from(signature, 'base64')))
})

testOnBoth(
  'events of a channel come in their order, also while an earlier one is repeated',
  async (t, database) => {
    const store = await withStore(t, database)
    const receiver = await startReceiver(t)
    let broken = true
    receiver.answer = (heard) => (detail(heard) === '2' && broken ? { status: 503, body: 'not now' } : {})
    await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
    const notifier = await startNotifier(t, store)
    await happen(store, ['A-B-C', 'A-B-D', 'A-B-C', 'A-B-C', 'A-B-D', 'A-B-D'])
    await waitFor('the failure and all of the other channel', async () => {
      const states = (await deliveries(store)).map(({ state, attempts }) => `${state} ${attempts}`)
      return states.join() === 'DELIVERED 1,DELIVERED 1,PENDING 1,PENDING 0,DELIVERED 1,DELIVERED 1'
    })
    const [, , failed] = await deliveries(store)
    const [attempt] = JSON.parse(failed?.tries ?? '[]') as {
      status: number
      answer: string
      error: string
      at: number
    }[]
    assert.deepEqual([attempt?.status, attempt?.answer, attempt?.error], [503, 'not now', 'answered 503'])
    const pause = (failed?.due_at ?? 0) - (attempt?.at ?? 0)
    assert.ok(pause >= 5000 && pause <= 6000, `${pause} ms`)
    broken = false
    await hurry(store)
    notifier.nudge()
    await waitFor('the rest', async () =>
      (await deliveries(store)).every(({ state }) => state === 'DELIVERED'),
    )
    const ofChannel = receiver.heard.filter(({ event }) => event.channel === 'A-B-C').map(detail)
    assert.deepEqual(ofChannel, ['0', '2', '2', '3'])
    const [first, again] = receiver.heard.filter((heard) => detail(heard) === '2')
    assert.equal(first?.id, again?.id)
  },
)

test('an event that an endpoint never takes does not hold up its channel for ever', async (t) => {
  const store = await withStore(t, sqlite)
  const receiver = await startReceiver(t)
  receiver.answer = (heard) => (detail(heard) === '0' ? { status: 422 } : {})
  await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
  const notifier = await startNotifier(t, store)
  await happen(store, ['A-B-C', 'A-B-C'])
  await waitFor('the first attempt', async () => (await deliveries(store))[0]?.attempts === 1)
  await hurry(store)
  notifier.nudge()
  await waitFor('the one behind it', async () => (await deliveries(store))[1]?.state === 'DELIVERED')
  const [first] = await deliveries(store)
  assert.deepEqual([first?.state, first?.attempts], ['PENDING', 2])
  for (let attempt = 3; attempt <= 10; attempt++) {
    await hurry(store)
    notifier.nudge()
    await waitFor(`attempt ${attempt}`, async () => (await deliveries(store))[0]?.attempts === attempt)
  }
  assert.equal((await deliveries(store))[0]?.state, 'FAILED')
})

test('a slow endpoint holds up nobody else', async (t) => {
  const store = await withStore(t, sqlite)
  const [slow, quick] = [await startReceiver(t), await startReceiver(t)]
  slow.answer = () => 'never'
  await subscribe(store, 'slow', { webhook: { url: slow.url } }, [SECRET])
  await subscribe(store, 'quick', { webhook: { url: quick.url } }, [SECRET])
  await startNotifier(t, store, { postMs: 600_000 })
  await happen(
    store,
    Array.from({ length: 30 }, (_, nth) => `A-B-C${nth % 10}`),
  )
  await waitFor('the quick one', () => quick.heard.length === 30)
  await waitFor('the slow one to be asked', () => slow.heard.length > 0)
  assert.ok((await deliveries(store, 'slow')).every(({ attempts }) => attempts === 0))
})

test('an endpoint that does not answer in its time has failed', async (t) => {
  const store = await withStore(t, sqlite)
  const slow = await startReceiver(t)
  slow.answer = () => 'never'
  await subscribe(store, 'slow', { webhook: { url: slow.url } }, [SECRET])
  await startNotifier(t, store, { postMs: 1000 })
  await happen(store, ['A-B-C'])
  const failed = await found('the failure', async () =>
    (await deliveries(store, 'slow')).find(({ attempts }) => attempts > 0),
  )
  const [attempt] = JSON.parse(failed.tries) as { error: string; tookMs: number }[]
  assert.equal(attempt?.error, 'no answer within 1 s')
  assert.ok(attempt.tookMs >= 990, String(attempt.tookMs))
})

for (const [what, answer, error] of [
  [
    'goes over to another protocol',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    'answered 101',
  ],
  ['closes the connection in the middle of an answer', 'HTTP/1.1 200 OK\r\nContent-Le', 'socket hang up'],
] as const)
  test(
    `an endpoint that ${what} has failed, and holds up neither others nor the end of a node`,
    { timeout: 60_000 },
    async (t) => {
      const store = await withStore(t, sqlite)
      const receiver = await startReceiver(t)
      const server = createTcpServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.end(answer))
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      closeAfter(t, () => new Promise<void>((resolve) => server.close(() => resolve())))
      const { port } = server.address() as AddressInfo
      await subscribe(store, 'odd', { webhook: { url: `http://127.0.0.1:${port}/` } }, [SECRET])
      await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
      const notifier = await startNotifier(t, store)
      await happen(store, ['A-B-C'])
      const failed = await found('the failure', async () =>
        (await deliveries(store, 'odd')).find(({ attempts }) => attempts > 0),
      )
      const [attempt] = JSON.parse(failed.tries) as { error: string }[]
      assert.equal(attempt?.error, error)
      await waitFor('the other', () => receiver.heard.length === 1)
      await notifier.stop()
    },
  )

test('a redirection counts as a failure and is not followed', async (t) => {
  const store = await withStore(t, sqlite)
  const [elsewhere, receiver] = [await startReceiver(t), await startReceiver(t)]
  receiver.answer = () => ({ status: 307, headers: { location: elsewhere.url } })
  await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
  await startNotifier(t, store)
  await happen(store, ['A-B-C'])
  const row = await found('the failure', async () =>
    (await deliveries(store)).find(({ attempts }) => attempts === 1),
  )
  assert.match(row.tries, /answered 307: redirections are not followed/)
  assert.equal(elsewhere.heard.length, 0)
})

testOnBoth('410 switches an endpoint off, with an event for others', async (t, database) => {
  const store = await withStore(t, database)
  const [gone, other] = [await startReceiver(t), await startReceiver(t)]
  gone.answer = () => ({ status: 410 })
  await subscribe(store, 'gone', { webhook: { url: gone.url }, events: ['channel.*'] }, [SECRET])
  await subscribe(store, 'other', { webhook: { url: other.url }, events: ['subscription.disabled'] }, [
    SECRET,
  ])
  await startNotifier(t, store)
  await happen(store, ['A-B-C', 'A-B-C', 'A-B-C'])
  const told = await found('the event', () => other.heard[0])
  assert.deepEqual(told.event.data, { subscription: 'gone', reason: 'the endpoint answered 410: it is gone' })
  assert.equal((await findSubscription(store.db, 'gone'))?.state, 'OFF')
  assert.ok((await deliveries(store, 'gone')).every(({ state }) => state === 'FAILED'))
  await happen(store, ['A-B-C'])
  await waitFor(
    'the next event',
    async () => (await store.db.selectFrom('event').selectAll().execute()).length >= 5,
  )
  assert.equal(gone.heard.length, 1)
})

testOnBoth('an endpoint that fails for three days is switched off', async (t, database) => {
  const store = await withStore(t, database)
  const receiver = await startReceiver(t)
  receiver.answer = () => ({ status: 500 })
  await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
  const since = Date.now() - 72 * 3_600_000 + 60_000
  const failing = (at: number) =>
    store.write((tx) => tx.updateTable('subscription').set({ failing_since: at }).execute())
  await failing(since)
  const notifier = await startNotifier(t, store)
  await happen(store, ['A-B-C'])
  await waitFor('an attempt', async () => (await deliveries(store))[0]?.attempts === 1)
  assert.equal((await findSubscription(store.db, 'hook'))?.state, 'ON')
  await failing(since - 120_000)
  await notifier.stop()
  const next = await startNotifier(t, store, { owner: 'two' })
  await hurry(store)
  next.nudge()
  const off = await found('the end', async () => {
    const found = await findSubscription(store.db, 'hook')
    return found?.state === 'OFF' ? found : undefined
  })
  assert.match(off.offReason ?? '', /nothing was delivered for 3 days; the last attempt: answered 500/)
})

test('when an endpoint answers again all that waits for it comes at once, in order', async (t) => {
  const store = await withStore(t, sqlite)
  const receiver = await startReceiver(t)
  let down = true
  receiver.answer = () => (down ? { status: 500 } : {})
  await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
  const notifier = await startNotifier(t, store)
  await happen(store, ['A-B-C', 'A-B-C', 'A-B-C'])
  await waitFor('two attempts at each', async () => {
    const all = await deliveries(store)
    if (all.length === 3 && all.every(({ attempts }) => attempts >= 2)) return true
    // The others wait for minutes; this one's time has come.
    const next = all.find(({ attempts }) => attempts < 2)
    if (next && next.attempts === 1) await hurry(store, 0, next.position)
    notifier.nudge()
    return false
  })
  down = false
  receiver.heard.length = 0
  await happen(store, ['A-B-D'], 3)
  notifier.nudge()
  await waitFor('all', async () => (await deliveries(store)).every(({ state }) => state === 'DELIVERED'))
  assert.deepEqual(receiver.heard.filter(({ event }) => event.channel === 'A-B-C').map(detail), [
    '0',
    '1',
    '2',
  ])
})

test('a subscription hears the events and channels that it names', async (t) => {
  const store = await withStore(t, sqlite)
  const receiver = await startReceiver(t)
  const webhook = { url: receiver.url }
  await subscribe(store, 'hook', { webhook, events: ['channel.up*', 'node.*'], channels: ['BANCO-*'] }, [
    SECRET,
  ])
  await startNotifier(t, store)
  await store.write(async (tx) => {
    const at = Date.now()
    await addEvent(tx, { type: 'node.stopped', at, data: { node: 'n' } })
    await addEvent(tx, { type: 'channel.created', at, channelCode: 'BANCO-A-B', data: {} })
    await addEvent(tx, { type: 'channel.updated', at, channelCode: 'CAJA-A-B', data: {} })
    await addEvent(tx, { type: 'channel.updated', at, channelCode: 'BANCO-A-B', data: {} })
  })
  await waitFor('the one', () => receiver.heard.length > 0)
  assert.equal((await deliveries(store)).length, 1)
  assert.equal(receiver.heard[0]?.event.channel, 'BANCO-A-B')
})

test('inner addresses are not called unless a setting names them, whatever a name leads to', async (t) => {
  const store = await withStore(t, sqlite)
  let called = 0
  const server = createServer((_, response) => {
    called++
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closeAfter(t, () => new Promise((resolve) => server.close(() => resolve())))
  const { port } = server.address() as AddressInfo
  const places = ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '169.254.169.254', '2130706433', '0.0.0.0']
  for (const [nth, place] of places.entries())
    await subscribe(store, `hook${nth}`, { webhook: { url: `http://${place}:${port}/` } }, [SECRET])
  await startNotifier(t, store, { settings: { ESCLUSA_WEBHOOK_NETWORKS: '' } })
  await happen(store, ['A-B-C'])
  for (const nth of places.keys()) {
    const row = await found(`hook${nth}`, async () =>
      (await deliveries(store, `hook${nth}`)).find((one) => one.attempts === 1),
    )
    assert.match(row.tries, /ESCLUSA_WEBHOOK_NETWORKS does not name it|may never call/, places[nth])
  }
  assert.equal(called, 0)
})

test('a subscription that a node held by a clock that was ahead is told by the next one', async (t) => {
  const store = await withStore(t, sqlite)
  const receiver = await startReceiver(t)
  await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
  await store.write((tx) =>
    tx
      .updateTable('subscription')
      .set({ lease_owner: 'gone', lease_until: Date.now() + HOUR })
      .execute(),
  )
  await startNotifier(t, store)
  await happen(store, ['A-B-C'])
  await waitFor('the event', () => receiver.heard.length === 1)
})

test('of two nodes one delivers for a subscription; the other goes on when it is gone', async (t) => {
  const store = await withStore(t, sqlite)
  const receiver = await startReceiver(t)
  await subscribe(store, 'hook', { webhook: { url: receiver.url } }, [SECRET])
  const first = await startNotifier(t, store, { owner: 'first' })
  await startNotifier(t, store, { owner: 'second' })
  await happen(
    store,
    Array.from({ length: 100 }, (_, nth) => `A-B-C${nth % 5}`),
  )
  await waitFor('all', async () => {
    const all = await deliveries(store)
    return all.length === 100 && all.every(({ state }) => state === 'DELIVERED')
  })
  await first.stop()
  await happen(
    store,
    Array.from({ length: 100 }, (_, nth) => `A-B-C${nth % 5}`),
    100,
  )
  await waitFor('the rest', async () => {
    const all = await deliveries(store)
    return all.length === 200 && all.every(({ state }) => state === 'DELIVERED')
  })
  assert.equal(receiver.heard.length, 200)
  for (const lane of [0, 1, 2, 3, 4]) {
    const numbers = receiver.heard
      .filter(({ event }) => event.channel === `A-B-C${lane}`)
      .map((one) => Number(detail(one)))
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    )
  }
})
