// The operations about events, subscriptions and expectations, through the typed client.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { createClient } from '../../sdk/index.ts'
import { findAccount, putAccount } from '../../src/store/accounts.ts'
import type { NewEvent } from '../../src/store/events/outbox.ts'
import { addEvent } from '../../src/store/events/outbox.ts'
import { makeEventId } from '../../src/store/events/event-id.ts'
import { switchOff } from '../../src/store/events/subscriptions.ts'
import { putCalendar } from '../../src/store/expectations/calendars.ts'
import { putExpectations } from '../../src/store/expectations/expectations.ts'
import { takeEvents } from '../../src/notify/take-events.ts'
import { watchExpectations } from '../../src/notify/expectations/watch.ts'
import { putSubscription, secretsPlace } from '../../src/store/events/subscriptions.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import type { TestDatabase, TestNode } from '../support/harness.ts'
import { CLOSED, FULL, PLAIN } from '../support/seed.ts'

async function scene(t: TestContext, database?: TestDatabase) {
  const node = await startTestHttp(t, {
    ...(database && { database }),
    settings: { ESCLUSA_TIMEZONE: 'Europe/Madrid' },
  })
  const as = async (user: string) => createClient({ url: node.url, token: await node.token(user) }).platform
  return { node, as, admin: await as('admin') }
}

async function happen(node: TestNode, ...events: NewEvent[]): Promise<void> {
  await node.store.write(async (tx) => {
    for (const event of events) await addEvent(tx, event)
  })
  await takeEvents(node.store, node.context.zone, node.context.now())
}

const updated = (channelCode: string, at = Date.now()): NewEvent => ({
  type: 'channel.updated',
  at,
  channelCode,
  data: {},
})

testOnBoth('events are read newest first, by filter, or on from one', async (t, database) => {
  const { node, admin } = await scene(t, database)
  await happen(node)
  const { content: seeded } = await admin.listEvents({ type: 'channel.created' })
  assert.deepEqual(seeded.map(({ channel = '' }) => channel).toSorted(), [FULL, PLAIN, CLOSED].toSorted())
  await happen(
    node,
    updated(PLAIN),
    { type: 'node.stopped', at: Date.now(), data: { node: 'n' } },
    updated(FULL),
  )
  const all = await admin.listEvents({ size: 1000 })
  assert.deepEqual(
    all.content.slice(0, 3).map(({ type }) => type),
    ['channel.updated', 'node.stopped', 'channel.updated'],
  )
  assert.equal(all.next, undefined)
  const first = await admin.listEvents({ size: 2 })
  const second = await admin.listEvents({ size: 2, before: first.next ?? '' })
  assert.deepEqual([...first.content, ...second.content], all.content.slice(0, 4))
  const oldest = all.content.at(-1)
  assert.deepEqual(
    (await admin.listEvents({ after: oldest?.id ?? '', size: 1000 })).content,
    all.content.slice(0, -1).toReversed(),
  )
  assert.deepEqual((await admin.listEvents({ channelCode: PLAIN, type: 'channel.*' })).content.length, 2)
  assert.deepEqual(
    (await admin.listEvents({ contactId: 'beta' })).content.map(({ channel }) => channel),
    [CLOSED],
  )
  assert.deepEqual((await admin.listEvents({ type: 'no.such' })).content, [])
  assert.deepEqual((await admin.listEvents({ initialDate: '2999-01-01' })).content, [])
  for (const wrong of [
    { before: 'x' },
    { after: '17' },
    { before: first.next ?? '', after: first.next ?? '' },
  ])
    await assert.rejects(admin.listEvents(wrong), { status: 400 })
  // The id of an event that is no longer kept still tells where to go on.
  const past = all.content.at(-2)?.id ?? ''
  await node.store.db.deleteFrom('event').where('id', '<=', past).execute()
  const after = async (id: string) => (await admin.listEvents({ after: id, size: 1000 })).content.toReversed()
  assert.deepEqual(await after(past), all.content.slice(0, -2))
  // One that this database never had tells nothing: its place has another event, or has not been given out.
  for (const unknown of [makeEventId(1, 3), makeEventId(1, 999)])
    assert.deepEqual(await after(unknown), all.content.slice(0, -2))
})

test('a user sees the events that the interface would show', async (t) => {
  const { node, as } = await scene(t)
  await happen(
    node,
    updated(CLOSED),
    updated('GONE-ACME-X'),
    {
      type: 'transfer.failed',
      at: 1,
      channelCode: PLAIN,
      data: { transferId: 't', direction: 'EMISION', type: 'MANUAL' },
    },
    { type: 'partner.unreachable', at: 1, contactId: 'acme', data: { failures: 3 } },
    { type: 'key.proposed', at: 1, channelCode: PLAIN, contactId: 'acme', data: { fingerprint: 'ff' } },
    { type: 'login.refused', at: 1, data: { door: 'http' } },
    { type: 'file.quarantined', at: 1, channelCode: PLAIN, data: { transferId: 't', fileName: 'x' } },
  )
  const seen = async (user: string) => {
    const { content } = await (await as(user)).listEvents({ size: 1000 })
    return content
      .filter(({ type }) => type !== 'channel.created')
      .map(({ type, channel = '' }) => `${type} ${channel}`.trim())
      .toSorted()
  }
  const everything = [
    `channel.updated ${CLOSED}`,
    'channel.updated GONE-ACME-X',
    `file.quarantined ${PLAIN}`,
    `key.proposed ${PLAIN}`,
    'login.refused',
    'partner.unreachable',
    `transfer.failed ${PLAIN}`,
  ]
  assert.deepEqual(await seen('admin'), everything)
  assert.deepEqual(await seen('operator'), [
    `channel.updated ${CLOSED}`,
    'partner.unreachable',
    `transfer.failed ${PLAIN}`,
  ])
  assert.deepEqual(await seen('advoperator'), ['partner.unreachable', `transfer.failed ${PLAIN}`])
  assert.deepEqual(await seen('controlator'), [`file.quarantined ${PLAIN}`, 'partner.unreachable'])
})

async function subscribed(node: TestNode, id: string): Promise<void> {
  const { seal } = node.context
  const secrets = seal.seal(secretsPlace(id), JSON.stringify(['whsec_a', 'whsec_b']))
  const settings = { webhook: { url: 'https://ops.example/hook' }, events: ['channel.*'] }
  await node.store.write((tx) => putSubscription(tx, { id, settings, secrets }))
}

testOnBoth(
  'subscriptions and deliveries are seen, tried, sent again and switched on',
  async (t, database) => {
    const { node, admin } = await scene(t, database)
    await happen(node)
    await subscribed(node, 'hook')
    await happen(node, updated(PLAIN), updated(FULL))
    const [hook] = (await admin.listSubscriptions()).content
    assert.deepEqual(hook?.webhook, { url: 'https://ops.example/hook', secrets: 2 })
    assert.deepEqual([hook?.state, hook?.waiting], ['ON', 2])
    const { content, next } = await admin.listDeliveries({ size: 1 })
    assert.deepEqual(
      [content[0]?.event.channel, content[0]?.state, next],
      [FULL, 'PENDING', content[0]?.event.id],
    )
    const older = await admin.listDeliveries({ size: 5, before: next ?? '' })
    assert.deepEqual(
      older.content.map(({ event }) => event.channel),
      [PLAIN],
    )
    const tries = JSON.stringify([{ at: 1, tookMs: 5, status: 500, error: 'answered 500', answer: 'no' }])
    await node.store.write((tx) =>
      tx.updateTable('delivery').set({ state: 'FAILED', attempts: 10, ended_at: 7, tries }).execute(),
    )
    const [failed] = (await admin.listDeliveries({ state: 'FAILED', subscriptionId: 'hook' })).content
    assert.deepEqual(failed?.tries[0]?.answer, 'no')
    const eventId = failed?.event.id ?? ''
    const again = await admin.resendDelivery({ subscriptionId: 'hook', eventId })
    assert.deepEqual([again.state, again.attempts, again.tries.length], ['PENDING', 0, 1])
    await assert.rejects(admin.resendDelivery({ subscriptionId: 'hook', eventId: makeEventId(1, 999) }), {
      status: 404,
    })
    await assert.rejects(admin.resendDelivery({ subscriptionId: 'none', eventId }), { status: 404 })

    const tested = await admin.testSubscription({ subscriptionId: 'hook' })
    const [test] = (await admin.listDeliveries({ eventId: tested.eventId })).content
    assert.deepEqual(
      [test?.event.type, test?.subscription, test?.event.data],
      ['subscription.test', 'hook', { subscription: 'hook', requestedBy: 'admin' }],
    )
    await node.store.write((tx) => switchOff(tx, 'hook', 1, 'gone'))
    await assert.rejects(admin.testSubscription({ subscriptionId: 'hook' }), {
      status: 409,
      message: /enable it first/,
    })
    await assert.rejects(admin.resendDelivery({ subscriptionId: 'hook', eventId }), { status: 409 })
    assert.equal((await admin.listSubscriptions()).content[0]?.offReason, 'gone')
    assert.equal((await admin.enableSubscription({ subscriptionId: 'hook' })).state, 'ON')
    await admin.testSubscription({ subscriptionId: 'hook' })
  },
)

test('deliveries of events that a user may not see are neither listed nor sent again', async (t) => {
  const { node, as, admin } = await scene(t)
  const account = await findAccount(node.store.db, 'advoperator')
  assert.ok(account)
  const auths = { ...account.auths, administration: true }
  await node.store.write((tx) => putAccount(tx, { ...account, auths }))
  await happen(node)
  await subscribed(node, 'hook')
  await subscribed(node, 'second')
  const closed = Array.from({ length: 300 }, () => updated(CLOSED))
  await happen(node, updated(PLAIN), ...closed, updated(FULL), updated(CLOSED))
  const user = await as('advoperator')
  // Page by page, and also past more than is looked at together.
  const seen: string[] = []
  for (let before: string | undefined; ;) {
    const asked = { subscriptionId: 'hook', size: 1, ...(before !== undefined && { before }) }
    const { content, next } = await user.listDeliveries(asked)
    seen.push(...content.map(({ event }) => event.channel ?? ''))
    before = next
    if (next === undefined) break
  }
  assert.deepEqual(seen, [FULL, PLAIN])
  const all = await user.listDeliveries({ size: 2 })
  assert.deepEqual(
    all.content.map(({ event, subscription }) => `${event.channel} ${subscription}`),
    [`${FULL} hook`, `${FULL} second`],
  )
  const rest = await user.listDeliveries({ size: 2, before: all.next ?? '' })
  assert.deepEqual([rest.content.map(({ event }) => event.channel), rest.next], [[PLAIN, PLAIN], undefined])
  const [hidden] = (await admin.listDeliveries({ size: 1 })).content
  assert.equal(hidden?.event.channel, CLOSED)
  const eventId = hidden?.event.id ?? ''
  assert.deepEqual(await user.listDeliveries({ eventId }), { content: [] })
  const text = `subscription hook has no delivery of event ${eventId}`
  await assert.rejects(user.resendDelivery({ subscriptionId: 'hook', eventId }), {
    status: 404,
    message: text,
  })
  assert.equal((await admin.auditTrail({ action: 'DELIVERY_RESENT' })).content.length, 0)
  const mine = all.content[0]?.event.id ?? ''
  assert.equal((await user.resendDelivery({ subscriptionId: 'hook', eventId: mine })).state, 'PENDING')
})

testOnBoth('the expectations of a day are listed, counted and acknowledged', async (t, database) => {
  const { node, as } = await scene(t, database)
  const now = Date.parse('2037-11-16T22:30:00+01:00')
  node.context.now = () => now
  // Tokens are made by this clock, and end by the machine's: it lies ahead of that for years.
  let admin = await as('admin')
  const base = { direction: 'EMISION', from: '18:00', by: '22:00' } as const
  await node.store.write((tx) =>
    putExpectations(tx, [
      { ...base, id: 'missed', channel: PLAIN },
      { ...base, id: 'night', channel: FULL, from: '22:00', by: '02:00+1' },
      { ...base, id: 'closed', channel: CLOSED },
      { ...base, id: 'weekly', channel: PLAIN, days: ['fri'] },
    ]),
  )
  for (const time of [now - 6 * 3_600_000, now]) {
    await takeEvents(node.store, node.context.zone, time)
    await watchExpectations(node.store, node.context.zone, time)
  }
  const today = await admin.listExpectations()
  assert.equal(today.day, '2037-11-16')
  assert.deepEqual(
    today.content.map(({ expectation, state }) => `${expectation} ${state}`),
    ['closed missed', 'missed missed', 'night waiting'],
  )
  assert.deepEqual([today.byState.missed, today.byState.waiting], [2, 1])
  assert.equal(today.content[2]?.by, '2037-11-17T02:00:00.000+01:00')
  assert.deepEqual((await admin.listExpectations({ state: 'missed', channelCode: PLAIN })).content.length, 1)
  assert.deepEqual((await admin.listExpectations({ contactId: 'beta' })).content.length, 1)
  // After midnight the window of the day before is still open.
  node.context.now = () => now + 2 * 3_600_000
  admin = await as('admin')
  const tomorrow = await admin.listExpectations()
  assert.deepEqual(tomorrow.content.map(({ expectation, day }) => `${expectation} ${day}`).slice(0, 1), [
    'night 2037-11-16',
  ])
  // A day farther ahead than any that was made.
  const ahead = await admin.listExpectations({ day: '2038-01-08' })
  assert.deepEqual(ahead.content.map(({ expectation }) => expectation).toSorted(), [
    'closed',
    'missed',
    'night',
    'weekly',
  ])
  assert.deepEqual(
    (await (await as('advoperator')).listExpectations({ day: '2037-11-16' })).content.length,
    2,
  )
  assert.deepEqual(
    (await (await as('advoperator')).expectationRules()).content.map(({ id }) => id),
    ['missed', 'night', 'weekly'],
  )
  await assert.rejects(admin.listExpectations({ day: '2026-02-30' }), { status: 400 })

  const key = { expectationId: 'missed', day: '2037-11-16' }
  const operator = await as('operator')
  const taken = await operator.acknowledgeExpectation({ ...key, body: { comment: 'the bank is informed' } })
  assert.deepEqual(
    [taken.state, taken.acknowledgedBy, taken.comment],
    ['missed', 'operator', 'the bank is informed'],
  )
  await assert.rejects(operator.acknowledgeExpectation({ ...key, day: '2020-01-01', body: {} }), {
    status: 404,
  })
  const advanced = await as('advoperator')
  // One of a closed channel looks like one that does not exist: its channel's code is none of this user's business.
  for (const expectationId of ['closed', 'none'])
    await assert.rejects(advanced.acknowledgeExpectation({ ...key, expectationId, body: {} }), {
      status: 404,
      message: `expectation ${expectationId} has no day ${key.day}`,
    })
  const audited = await admin.auditTrail({ action: 'EXPECTATION_ACKNOWLEDGED' })
  assert.deepEqual([audited.content[0]?.user, audited.content[0]?.note], ['operator', 'the bank is informed'])
})

test('a year of a calendar, an expectation and a cron expression', async (t) => {
  const { node, as, admin } = await scene(t)
  await node.store.write(async (tx) => {
    await putCalendar(tx, {
      id: 'madrid',
      holidays: { country: 'ES', region: 'MD' },
      closed: ['2026-12-24'],
      open: ['2026-12-26'],
    })
    await putExpectations(tx, [
      {
        id: 'e',
        channel: CLOSED,
        direction: 'RECEPCION',
        by: '22:00',
        days: ['last'],
        calendar: 'target',
        onHoliday: 'previous',
        warnBefore: '1h',
      },
    ])
  })
  assert.deepEqual((await admin.listCalendars()).builtIn, ['always', 'weekdays', 'target'])
  const target = await admin.calendarYear({ calendarId: 'target', year: 2027 })
  assert.deepEqual(target.closed, ['2027-01-01', '2027-03-26', '2027-03-29'])
  const madrid = await admin.calendarYear({ calendarId: 'madrid', year: 2026 })
  assert.deepEqual([madrid.closed.includes('2026-12-24'), madrid.open], [true, ['2026-12-26']])
  await assert.rejects(admin.calendarYear({ calendarId: 'none' }), { status: 404 })
  const { windows } = await admin.expectationYear({ expectationId: 'e', year: 2027 })
  assert.deepEqual(
    windows.slice(0, 2).map(({ day, by, warnAt }) => [day, by, warnAt]),
    [
      ['2027-01-29', '2027-01-29T22:00:00.000+01:00', '2027-01-29T21:00:00.000+01:00'],
      ['2027-02-26', '2027-02-26T22:00:00.000+01:00', '2027-02-26T21:00:00.000+01:00'],
    ],
  )
  const advanced = await as('advoperator')
  for (const expectationId of ['e', 'none']) {
    const message = `there is no expectation ${expectationId}`
    await assert.rejects(advanced.expectationYear({ expectationId }), { status: 404, message })
  }
  const cron = await admin.cronYear({ cron: '0 6 1 * *', calendar: 'target', onHoliday: 'next', year: 2027 })
  assert.deepEqual(cron.times.slice(0, 2), ['2027-01-04T06:00:00.000+01:00', '2027-02-01T06:00:00.000+01:00'])
  const often = await admin.cronYear({ cron: '* * * * *', year: 2027 })
  assert.deepEqual([often.times.length, often.complete], [10_000, false])
  const bySecond = await admin.cronYear({ cron: '* * * * * *', calendar: 'target', onHoliday: 'next' })
  assert.deepEqual([bySecond.times.length, bySecond.complete], [10_000, false])
  const never = await admin.cronYear({ cron: '0 0 30 2 *', calendar: 'target', onHoliday: 'next' })
  assert.deepEqual([never.times, never.complete], [[], true])
  for (const wrong of [
    {},
    { cron: 'nonsense' },
    { cron: '0 6 * * *', timezone: 'Nowhere' },
    { cron: '0 6 * * *', timezone: '+02:00' },
    { cron: '* * * * *', channelCode: PLAIN },
  ])
    await assert.rejects(admin.cronYear(wrong), { status: 400 }, JSON.stringify(wrong))
  await assert.rejects(admin.cronYear({ channelCode: PLAIN }), { status: 404 })
})

testOnBoth(
  'definitions are made, changed and removed by the rules of the platform file',
  async (t, database) => {
    const { node, as, admin } = await scene(t, database)
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const hook = { url: 'https://ops.example/hook', secrets: [secret] }
    await admin.putCalendar({ calendarId: 'madrid', body: { holidays: { country: 'ES', region: 'MD' } } })
    const made = await admin.putSubscription({
      subscriptionId: 'hook',
      body: { webhook: hook, events: ['*'] },
    })
    assert.deepEqual(made.lines, ['+ subscription hook'])
    const expectation = { channel: PLAIN, direction: 'EMISION', by: '22:00', calendar: 'madrid' } as const
    await admin.putExpectation({ expectationId: 'e', body: expectation })
    const changed = await admin.putExpectation({ expectationId: 'e', body: { ...expectation, by: '23:00' } })
    assert.deepEqual(changed.lines, ['~ expectation e (by)'])
    // Left out, the secrets stay.
    await admin.putSubscription({
      subscriptionId: 'hook',
      body: { webhook: { url: hook.url }, events: ['node.*'] },
    })
    assert.deepEqual((await admin.listSubscriptions()).content[0]?.webhook, { url: hook.url, secrets: 1 })
    await assert.rejects(
      admin.putExpectation({ expectationId: 'e', body: { ...expectation, calendar: 'none' } }),
      {
        status: 400,
        message: /^\/calendar there is no calendar none/,
      },
    )
    await assert.rejects(admin.putSubscription({ subscriptionId: 'x', body: { events: ['*'] } }), {
      status: 400,
    })
    await assert.rejects(
      admin.putSubscription({ subscriptionId: 'x', body: { webhook: { url: hook.url }, events: ['*'] } }),
      { status: 409 },
    )
    await assert.rejects(admin.removeCalendar({ calendarId: 'madrid' }), {
      status: 409,
      message: /used by expectation e/,
    })
    // What was read is changed only as it was read, and made only where it is not there.
    let tag = ''
    const onTag = (given: string) => void (tag = given)
    const meanwhile = { status: 412, message: /somebody has changed it/ }
    const read = await admin.readExpectation({ expectationId: 'e' }, { onTag })
    assert.deepEqual(read, { id: 'e', ...expectation, by: '23:00', atLeast: 1 })
    await admin.putExpectation({ expectationId: 'e', body: expectation }, { ifMatch: tag })
    await assert.rejects(
      admin.putExpectation({ expectationId: 'e', body: { ...expectation, by: '21:00' } }, { ifMatch: tag }),
      meanwhile,
    )
    await assert.rejects(admin.removeExpectation({ expectationId: 'e' }, { ifMatch: tag }), meanwhile)
    await assert.rejects(admin.putExpectation({ expectationId: 'e', body: expectation }, { onlyNew: true }), {
      status: 412,
      message: /expectation e exists already/,
    })
    await assert.rejects(
      admin.putExpectation({ expectationId: 'gone', body: expectation }, { ifMatch: tag }),
      { status: 412, message: /somebody has removed it/ },
    )
    assert.deepEqual(await admin.readSubscription({ subscriptionId: 'hook' }, { onTag }), {
      id: 'hook',
      webhook: { url: hook.url },
      events: ['node.*'],
    })
    const told = { webhook: { url: hook.url }, events: ['*'] }
    await admin.putSubscription({ subscriptionId: 'hook', body: told }, { ifMatch: tag })
    await assert.rejects(
      admin.putSubscription({ subscriptionId: 'hook', body: told }, { ifMatch: tag }),
      meanwhile,
    )
    await admin.readCalendar({ calendarId: 'madrid' }, { onTag })
    const days = { holidays: { country: 'ES', region: 'MD' }, closed: ['2026-12-24'] }
    await admin.putCalendar({ calendarId: 'madrid', body: days }, { ifMatch: tag, onlyNew: false })
    await assert.rejects(admin.putCalendar({ calendarId: 'madrid', body: days }, { ifMatch: tag }), meanwhile)
    await assert.rejects(admin.readCalendar({ calendarId: 'none' }), { status: 404 })
    await assert.rejects((await as('operator')).removeExpectation({ expectationId: 'e' }), { status: 403 })
    await admin.removeExpectation({ expectationId: 'e' })
    await assert.rejects(admin.removeExpectation({ expectationId: 'e' }), { status: 404 })
    await admin.removeCalendar({ calendarId: 'madrid' })
    await admin.removeSubscription({ subscriptionId: 'hook' })
    assert.deepEqual((await admin.listSubscriptions()).content, [])
    const trail = await admin.auditTrail({ subjectKind: 'subscription' })
    assert.deepEqual(
      trail.content.map(({ action }) => action),
      ['SUBSCRIPTION_REMOVED', 'SUBSCRIPTION_CHANGED', 'SUBSCRIPTION_CHANGED', 'SUBSCRIPTION_CREATED'],
    )
    assert.ok(!JSON.stringify(trail).includes(secret))
    await node.store.db.selectFrom('subscription').selectAll().execute()
  },
)

test('the overview shows what is expected today, and subscriptions that were switched off', async (t) => {
  const { node, as, admin } = await scene(t)
  assert.equal((await admin.overview()).expectations, undefined)
  await node.store.write((tx) =>
    putExpectations(tx, [{ id: 'e', channel: CLOSED, direction: 'EMISION', by: '24:00' }]),
  )
  await watchExpectations(node.store, node.context.zone, node.context.now())
  await subscribed(node, 'hook')
  await node.store.write((tx) => switchOff(tx, 'hook', Date.now(), 'gone'))
  const { expectations, subscriptionsOff } = await admin.overview()
  assert.deepEqual([expectations?.byState.waiting, expectations?.days[0]?.expectation], [1, 'e'])
  assert.deepEqual([subscriptionsOff?.[0]?.id, subscriptionsOff?.[0]?.reason], ['hook', 'gone'])
  const closed = await (await as('advoperator')).overview()
  assert.deepEqual([closed.expectations?.days, closed.subscriptionsOff], [[], undefined])
})
