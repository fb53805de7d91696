import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { makeTestKey } from '../../../test/support/cms-keys.ts'
import { closeAfter, databases, startTestNode, testOnBoth } from '../../../test/support/harness.ts'
import type { TestDatabase, TestNode } from '../../../test/support/harness.ts'
import { CLOSED, contactOf, FULL, PLAIN, SECRETS } from '../../../test/support/seed.ts'
import type { ShownCertificate } from '../../notify/parts.ts'
import { addEvent } from '../../store/events/outbox.ts'
import { putSubscription, setHealth } from '../../store/events/subscriptions.ts'
import { takeEvents } from '../../notify/take-events.ts'
import { zoneOf } from '../../domain/time.ts'
import { putContact } from '../../store/contacts.ts'
import { putHealth } from '../../store/partner-health.ts'
import { claimNew } from '../../store/transfers/claims.ts'
import { signLife } from '../../store/transfers/signs-of-life.ts'
import { insertTransfer, moveTransfer } from '../../store/transfers/transfers.ts'
import { newFile } from '../../transfers/request.ts'
import { networksOf } from '../../domain/network/networks.ts'
import { EventHub } from '../platform/events.ts'
import { makeMetrics } from './route.ts'
import type { MetricsAccess } from './route.ts'
import { buildServer } from '../server.ts'

const ANYBODY: MetricsAccess = { token: undefined, networks: networksOf(['127.0.0.1']) }

type Door = {
  read: (token?: string) => Promise<{ status: number; text: string }>
  hub: EventHub
  get: (url: string) => Promise<unknown>
}

type Options = { now?: () => number; mostChannels?: number; listeners?: ShownCertificate[] }

function openDoor(t: TestContext, node: TestNode, access: MetricsAccess, options: Options = {}): Door {
  const { now, mostChannels = 100, listeners = [] } = options
  const context = { ...node.context, ...(now && { now }) }
  const app = buildServer(context, { log: pino({ level: 'silent' }) })
  const hub = new EventHub()
  const metrics = makeMetrics()
  metrics.wrote(0.02)
  const lag = { p50: 0.001, p90: 0.002, p99: 0.25, max: 0.5 }
  const engine = () => ({ emitted: 7, received: 11, quotaRefusals: 3, lag })
  metrics.addRoute(app, context, {
    hub,
    engine,
    access,
    mostChannels,
    listeners: () => Promise.resolve(listeners),
  })
  closeAfter(t, () => app.close())
  const read = async (token?: string) => {
    const answer = await app.inject({
      url: '/metrics',
      headers: token ? { authorization: `Bearer ${token}` } : {},
    })
    return { status: answer.statusCode, text: answer.payload }
  }
  return { read, hub, get: (url) => app.inject({ url }) }
}

function valueOf(text: string, series: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  assert.ok(line, `no series ${series} in:\n${text}`)
  return Number(line.slice(series.length + 1))
}

test('the days left of what callers of the node are shown are told, whatever the limit of channels', async (t) => {
  const node = await startTestNode(t)
  const { certificatePem } = await makeTestKey('Listener') // for 30 days
  const listeners = [{ use: 'ESCLUSA_TLS_CERT', pem: certificatePem }]
  const { text } = await openDoor(t, node, ANYBODY, { mostChannels: 0, listeners }).read()
  const lines = text.split('\n').filter((line) => line.startsWith('esclusa_certificate_days_left{'))
  const [, use, days] = /use="([^"]*)".* (\d+)$/.exec(lines.join()) ?? []
  assert.equal(use, 'ESCLUSA_TLS_CERT', text)
  assert.ok(days === '29' || days === '30', days)
})

for (const database of databases)
  test(`transfers are counted by way and state (${database.name})`, { skip: database.skip ?? false }, (t) =>
    countsTransfers(t, database),
  )

async function countsTransfers(t: TestContext, database: TestDatabase): Promise<void> {
  const node = await startTestNode(t, { database })
  let now = Date.now()
  const { read } = openDoor(t, node, ANYBODY, { now: () => now })
  const row = {
    type: 'MANUAL',
    encryption: 0,
    error: null,
    error_code: null,
    requested_by: null,
    requested_at: now,
    started_at: now,
    listed_at: now,
    retry_of: null,
    settled: 0,
    attempts: 0,
    due_at: now + 1e9,
    lease_owner: null,
    lease_until: null,
    receipts_until: null,
    fence: 0,
    snapshot: null,
    output: null,
    channel_code: 'BANCO-ACME-NOMINA',
  }
  const states = ['PENDING', 'COMPLETED', 'COMPLETED', 'FAILED'] as const
  await node.store.write((tx) =>
    tx
      .insertInto('transfer')
      .values(
        states.map((state, index) => ({
          ...row,
          id: `t${index}`,
          direction: 'EMISION',
          state,
          position: index + 1,
          ended_at: state === 'PENDING' ? null : now + 1,
        })),
      )
      .execute(),
  )
  now += 20_000
  const { text } = await read()
  assert.equal(valueOf(text, 'esclusa_transfers{direction="EMISION",status="PENDING"}'), 1)
  assert.equal(valueOf(text, 'esclusa_transfers{direction="RECEPCION",status="IN_PROGRESS"}'), 0)
  assert.equal(valueOf(text, 'esclusa_transfers_ended_total{direction="EMISION",status="COMPLETED"}'), 2)
  assert.equal(valueOf(text, 'esclusa_transfers_ended_total{direction="EMISION",status="FAILED"}'), 1)
  now += 20_000
  const again = await Promise.all([read(), read()])
  for (const one of again)
    assert.equal(
      valueOf(one.text, 'esclusa_transfers_ended_total{direction="EMISION",status="COMPLETED"}'),
      2,
    )
}

test('bytes, streams, answers, lag, memory and the version are shown', async (t) => {
  const { read, hub, get } = openDoor(t, await startTestNode(t), ANYBODY)
  hub.listen({ username: 'x', listener: () => {}, end: () => {}, recheck: () => Promise.resolve() })
  await get('/nothing-here')
  await get('/connect-back/integration/v2/channels')
  const { text, status } = await read()
  assert.equal(status, 200)
  assert.equal(valueOf(text, 'esclusa_bytes_moved_total{direction="EMISION"}'), 7)
  assert.equal(valueOf(text, 'esclusa_bytes_moved_total{direction="RECEPCION"}'), 11)
  assert.equal(valueOf(text, 'esclusa_event_streams'), 1)
  assert.equal(valueOf(text, 'esclusa_quota_refusals_total'), 3)
  assert.equal(valueOf(text, 'esclusa_http_requests_total{status="4xx"}'), 2)
  assert.ok(valueOf(text, 'process_resident_memory_bytes') > 1_000_000)
  assert.ok(valueOf(text, 'esclusa_event_loop_lag_seconds{thread="http",quantile="0.99"}') >= 0)
  assert.equal(valueOf(text, 'esclusa_event_loop_lag_seconds{thread="engine",quantile="0.99"}'), 0.25)
  assert.equal(valueOf(text, 'esclusa_event_loop_lag_seconds_max{thread="engine"}'), 0.5)
  assert.equal(valueOf(text, 'esclusa_database_write_seconds_bucket{le="0.025"}'), 1)
  assert.ok(valueOf(text, 'esclusa_database_ping_seconds') > 0)
  assert.match(text, /^esclusa_disk_free_bytes\{path="[^"]+"\} [1-9]\d*$/m)
  assert.match(text, /^esclusa_build_info\{version="\d+\.\d+\.\d+[^"]*",node="v\d+\.[^"]+"\} 1$/m)
})

test('every line is of the text form, each metric with its help and type', async (t) => {
  const { read } = openDoor(t, await startTestNode(t), ANYBODY)
  const { text } = await read()
  assert.ok(text.endsWith('\n'))
  const names = new Set<string>()
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const type = /^# TYPE (\w+) (counter|gauge|histogram)$/.exec(line)?.[1]
    if (type) {
      assert.ok(!names.has(type), `${type} comes twice`)
      names.add(type)
    } else if (!/^# HELP \w+ \S/.test(line)) {
      const found = /^(\w+?)(_bucket|_sum|_count)?(\{(\w+="[^"\n]*",?)+\})? -?\d+(\.\d+)?(e[+-]?\d+)?$/.exec(
        line,
      )
      assert.ok(found?.[1] && names.has(found[1]), `not a sample of a metric that was announced: ${line}`)
    }
  }
})

test('without a network or token of their own only an administrator’s token opens the metrics', async (t) => {
  const node = await startTestNode(t)
  const { read } = openDoor(t, node, { token: undefined, networks: networksOf([]) })
  assert.equal((await read()).status, 401)
  assert.equal((await read(await node.token('operator'))).status, 403)
  assert.equal((await read(await node.token('globaladmin'))).status, 200)
})

test('a token for the metrics opens them and nothing else', async (t) => {
  const node = await startTestNode(t)
  const { read } = openDoor(t, node, { token: 'a token for scrapers', networks: networksOf(['10.0.0.0/8']) })
  assert.equal((await read('a-token-for-others')).status, 401)
  assert.equal((await read()).status, 401)
  const right = openDoor(t, node, { token: 'for-scrapers', networks: networksOf([]) })
  assert.equal((await right.read('for-scrapers')).status, 200)
  const elsewhere = await fetch(`${node.url}/connect-back/integration/v2/channels`, {
    headers: { authorization: 'Bearer for-scrapers' },
  })
  assert.equal(elsewhere.status, 401)
})

test('channels and their partners have figures of their own, as many as the setting says', async (t) => {
  const node = await startTestNode(t)
  await node.store.write((tx) =>
    putHealth(tx, { contactId: 'beta', failures: 5, openUntil: 0, error: null }, 1),
  )
  const { text } = await openDoor(t, node, ANYBODY).read()
  assert.equal(valueOf(text, `esclusa_channel_status{channel="${PLAIN}",partner="acme",status="IDLE"}`), 1)
  assert.equal(valueOf(text, 'esclusa_partner_up{partner="acme"}'), 1)
  assert.equal(valueOf(text, 'esclusa_partner_up{partner="beta"}'), 0)
  assert.equal(valueOf(text, 'esclusa_channels_unlisted'), 0)
  const fewer = (await openDoor(t, node, ANYBODY, { mostChannels: 1 }).read()).text
  assert.equal(fewer.match(/^esclusa_channel_status\{/gm)?.length, 1)
  assert.equal(valueOf(fewer, 'esclusa_channels_unlisted'), 2)
})

test('every partner that cannot be reached is shown as down, however many there are', async (t) => {
  const node = await startTestNode(t)
  const others = Array.from({ length: 150 }, (_, index) => `a${String(index).padStart(3, '0')}`)
  await node.store.write(async (tx) => {
    for (const contactId of others) await putContact(tx, contactOf(contactId, contactId.toUpperCase(), []))
    for (const contactId of [...others, 'beta'])
      await putHealth(tx, { contactId, failures: 5, openUntil: 0, error: null }, 1)
  })
  const { text } = await openDoor(t, node, ANYBODY).read()
  assert.equal(valueOf(text, 'esclusa_partner_up{partner="beta"}'), 0)
})

testOnBoth(
  'what ends is counted by channel: bytes, failures by code, last success, what waits',
  async (t, database) => {
    const node = await startTestNode(t, { database })
    let now = Date.now()
    const { read } = openDoor(t, node, ANYBODY, { now: () => now })
    await read()
    const began = now
    await node.store.write(async (tx) => {
      for (const [id, code, to] of [
        ['done', FULL, 'COMPLETED'],
        ['broken', PLAIN, 'FAILED'],
        ['waits', CLOSED, undefined],
      ] as const) {
        const made = { type: 'MANUAL', requestedBy: null, retryOf: null, now: began } as const
        const found = { directory: 0, name: 'a.txt', path: '/a.txt', size: 1234, modifiedAt: 1 }
        const file = { ...newFile(found, 0), keyDate: '', keyTime: id }
        await insertTransfer(tx, { id, channelCode: code, direction: 'EMISION', ...made, files: [file] })
        if (to === undefined) continue
        await moveTransfer(tx, id, { from: 'PENDING', to: 'IN_PROGRESS', now: began })
        const error = to === 'FAILED' ? { error: { code: 'timed_out', message: 'late' } } : {}
        await moveTransfer(tx, id, { from: 'IN_PROGRESS', to, now: began + 500, ...error })
      }
    })
    now += 30_000
    const { text } = await read()
    const labels = (code: string, partner: string) => `channel="${code}",partner="${partner}"`
    assert.equal(
      valueOf(text, `esclusa_channel_failures_total{${labels(PLAIN, 'acme')},code="timed_out"}`),
      1,
    )
    assert.equal(
      valueOf(text, `esclusa_channel_bytes_total{${labels(FULL, 'acme')},direction="EMISION"}`),
      1234,
    )
    const success = `esclusa_channel_last_success_timestamp_seconds{${labels(FULL, 'acme')},direction="EMISION"}`
    assert.equal(valueOf(text, success), (began + 500) / 1000)
    assert.equal(valueOf(text, `esclusa_channel_oldest_waiting_seconds{${labels(CLOSED, 'beta')}}`), 30)
    assert.equal(valueOf(text, `esclusa_channel_status{${labels(PLAIN, 'acme')},status="ERROR"}`), 1)
  },
)

testOnBoth(
  'a lease is over when its engine has fallen silent, however long a transfer runs',
  async (t, database) => {
    const node = await startTestNode(t, { database })
    const now = Date.now()
    await node.store.write(async (tx) => {
      const made = { type: 'MANUAL', requestedBy: null, retryOf: null, now: now - 3_600_000 } as const
      await insertTransfer(tx, { id: 'long', channelCode: FULL, direction: 'EMISION', ...made, files: [] })
      await moveTransfer(tx, 'long', { from: 'PENDING', to: 'IN_PROGRESS', now: now - 3_600_000 })
      await claimNew(tx, { id: 'long', fence: 1 }, { owner: 'one', until: now - 3_585_000 })
      await signLife(tx, 'one', now + 10_000)
    })
    const overdue = async (at: number) =>
      valueOf(
        (await openDoor(t, node, ANYBODY, { now: () => at }).read()).text,
        'esclusa_lease_overdue_seconds',
      )
    assert.equal(await overdue(now), 0)
    assert.equal(await overdue(now + 70_000), 60)
  },
)

test('what ends after the clock was set back is counted', async (t) => {
  const node = await startTestNode(t)
  let now = Date.now() + 3_600_000
  const { read } = openDoor(t, node, ANYBODY, { now: () => now })
  now += 30_000
  await read()
  now -= 3_600_000
  await read()
  await node.store.write(async (tx) => {
    const made = { type: 'MANUAL', requestedBy: null, retryOf: null, now } as const
    await insertTransfer(tx, { id: 'one', channelCode: FULL, direction: 'EMISION', ...made, files: [] })
    await moveTransfer(tx, 'one', { from: 'PENDING', to: 'IN_PROGRESS', now })
    await moveTransfer(tx, 'one', { from: 'IN_PROGRESS', to: 'COMPLETED', now })
  })
  now += 30_000
  const { text } = await read()
  assert.equal(valueOf(text, 'esclusa_transfers_ended_total{direction="EMISION",status="COMPLETED"}'), 1)
})

testOnBoth('a subscription whose endpoint fails has waited since it began to', async (t, database) => {
  const node = await startTestNode(t, { database })
  const now = Date.now()
  await node.store.write(async (tx) => {
    const settings = { webhook: { url: 'https://ops.example/' }, events: ['*'] }
    await putSubscription(tx, { id: 'hook', settings, secrets: '' })
    await addEvent(tx, { type: 'node.lost', at: now, data: { node: 'n' } })
  })
  await takeEvents(node.store, zoneOf('UTC'), now - 7_200_000)
  await node.store.write(async (tx) => {
    await setHealth(tx, 'hook', { failures: 4, failingSince: now - 7_200_000 })
    await tx
      .updateTable('delivery')
      .set({ due_at: now + 3_600_000 })
      .execute()
  })
  const waited = async () => {
    const { text } = await openDoor(t, node, ANYBODY, { now: () => now }).read()
    return valueOf(text, 'esclusa_delivery_oldest_due_seconds{subscription="hook"}')
  }
  assert.equal(await waited(), 7200)
  await node.store.write((tx) => tx.updateTable('delivery').set({ state: 'DELIVERED' }).execute())
  assert.equal(await waited(), 0)
})

test('no person or secret is shown, and no channel or partner where the setting is 0', async (t) => {
  const node = await startTestNode(t)
  const all = (await openDoor(t, node, ANYBODY).read()).text
  for (const word of ['globaladmin', ...Object.values(SECRETS)])
    assert.ok(!all.includes(word), `shows ${word}`)
  const { text } = await openDoor(t, node, ANYBODY, { mostChannels: 0 }).read()
  for (const word of ['BANCO', 'ACME', 'acme', 'beta']) assert.ok(!text.includes(word), `shows ${word}`)
})
