import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../../sdk/index.ts'
import { sqlite, startTestNode, testOnBoth } from '../../../test/support/harness.ts'
import type { TestDatabase, TestNode } from '../../../test/support/harness.ts'
import { CLOSED, contactOf, FULL, PLAIN } from '../../../test/support/seed.ts'
import type { Calendar } from '../../contract/calendar.ts'
import { putCalendar } from '../../store/expectations/calendars.ts'
import type { TestContext } from 'node:test'
import type { TransferStatus } from '../../contract/transfer.ts'
import { settle } from '../../store/transfers/failures.ts'
import { insertTransfer, moveTransfer } from '../../store/transfers/transfers.ts'
import { recountEnded } from '../../store/transfers/transfer-stats.ts'
import { newFile } from '../../transfers/request.ts'
import { applyPlatform } from '../../platform/apply.ts'
import { batches } from '../../store/database/batches.ts'
import { putContact } from '../../store/contacts.ts'
import { putHealth } from '../../store/partner-health.ts'

const FILE = { directory: 0, name: 'a.txt', path: '/a.txt', size: 1000, modifiedAt: 0 }
const ERROR = { message: 'no connection to 127.0.0.1', code: 'connect_failed' }

async function platformOf(t: TestContext, database: TestDatabase = sqlite) {
  const node = await startTestNode(t, { database })
  const as = async (username: string) =>
    createClient({ url: node.url, token: await node.token(username) }).platform
  return { node, as, admin: await as('globaladmin') }
}

/** A transfer as the engine would leave it. */
async function leave(
  node: TestNode,
  id: string,
  channelCode: string,
  state: TransferStatus,
  now = Date.now(),
) {
  await node.store.write(async (tx) => {
    const made = { direction: 'EMISION', type: 'MANUAL', requestedBy: 'operator', retryOf: null } as const
    const file = { ...newFile(FILE, 0), keyDate: '20260101', keyTime: '0000000001' }
    await insertTransfer(tx, { id, channelCode, ...made, now, files: [file] })
    if (state === 'PENDING') return
    assert.ok(await moveTransfer(tx, id, { from: 'PENDING', to: 'IN_PROGRESS', now }))
    if (state !== 'IN_PROGRESS')
      assert.ok(
        await moveTransfer(tx, id, {
          from: 'IN_PROGRESS',
          to: state,
          now,
          ...(state === 'FAILED' && { error: ERROR }),
        }),
      )
    // Held by somebody for longer than the test takes: the engine leaves it alone. Not for an hour: leases so far ahead are
    // ended by an engine that starts, and this one may be starting just now.
    await tx
      .updateTable('transfer')
      .set({ lease_owner: 'test', lease_until: now + 300_000 })
      .where('id', '=', id)
      .where('state', '=', 'IN_PROGRESS')
      .execute()
  })
}

testOnBoth(
  'the overview counts channels by status, transfers by hour and lists failures',
  async (t, database) => {
    const { node, admin } = await platformOf(t, database)
    const quiet = await admin.overview()
    assert.deepEqual(quiet.channels, {
      total: 3,
      byStatus: { INACTIVE: 0, IN_PROGRESS: 0, PENDING: 0, ERROR: 0, CLOSED: 0, IDLE: 3 },
    })
    assert.equal(quiet.hours?.length, 24)
    await leave(node, 'done-1', FULL, 'COMPLETED')
    await leave(node, 'failed-1', FULL, 'FAILED')
    // In the hour before those that the chart shows, though less than a day ago for most of an hour.
    await leave(
      node,
      'failed-0',
      FULL,
      'FAILED',
      (Math.floor(Date.now() / 3_600_000) - 23) * 3_600_000 - 1000,
    )
    await leave(node, 'moving-1', CLOSED, 'IN_PROGRESS')
    await node.call('updateChannel', { code: PLAIN, body: { deactivateChannel: true } })
    const { channels, active, hours, failures } = await admin.overview()
    assert.deepEqual(channels.byStatus, {
      INACTIVE: 1,
      IN_PROGRESS: 1,
      PENDING: 0,
      ERROR: 1,
      CLOSED: 0,
      IDLE: 0,
    })
    const { from: _from, ...now } = hours?.at(-1) ?? { from: '' }
    assert.deepEqual(now, { completed: 1, failed: 1, cancelled: 0, bytes: 1000 })
    assert.deepEqual([active?.inProgress, active?.pending], [1, 0])
    assert.equal(active?.transfers[0]?.totalBytes, 1000)
    assert.equal(failures?.total, 1)
    assert.equal(
      hours?.reduce((sum, { failed }) => sum + failed, 0),
      1,
    )
    const [failure] = failures?.transfers ?? []
    assert.deepEqual(
      [failure?.transferId, failure?.errorCode, failure?.retry],
      ['failed-1', 'connect_failed', 'POSSIBLE'],
    )
  },
)

testOnBoth('counters kept transfer by transfer are what a recount finds', async (t, database) => {
  const { node } = await platformOf(t, database)
  const read = async () => ({
    hours: await node.store.db
      .selectFrom('transfer_hour')
      .selectAll()
      .orderBy('channel_code')
      .orderBy('hour')
      .execute(),
    errors: await node.store.db
      .selectFrom('channel_state')
      .select(['code', 'error_id', 'emission_error_id', 'reception_error_id'])
      .orderBy('code')
      .execute(),
  })
  const hourAgo = Date.now() - 3_600_000
  await leave(node, 'a', FULL, 'FAILED', hourAgo)
  await leave(node, 'b', FULL, 'COMPLETED')
  await leave(node, 'c', PLAIN, 'COMPLETED', hourAgo)
  await leave(node, 'd', PLAIN, 'FAILED')
  await leave(node, 'e', CLOSED, 'FAILED')
  await node.store.write((tx) => settle(tx, 'e'))
  const kept = await read()
  assert.deepEqual(
    kept.errors.map((row) => row.error_id),
    ['d', null, null],
  )
  await node.store.write((tx) => recountEnded(tx))
  assert.deepEqual(await read(), kept)
})

test('each failure says whether it can be retried, and why not', async (t) => {
  const { node, as, admin } = await platformOf(t)
  const answers = async () => {
    const { content } = await admin.failedTransfers({ size: 10 })
    return Object.fromEntries(content.map((one) => [one.transferId, one.retry]))
  }
  const earlier = Date.now() - 60_000
  await leave(node, 'old', FULL, 'FAILED', earlier)
  await leave(node, 'new', FULL, 'FAILED')
  await leave(node, 'closed', PLAIN, 'FAILED')
  await leave(node, 'settled', CLOSED, 'FAILED')
  await node.store.write((tx) => settle(tx, 'settled'))
  await node.call('updateChannel', { code: PLAIN, body: { emission: { active: false } } })
  assert.deepEqual(await answers(), {
    old: 'SUPERSEDED',
    new: 'POSSIBLE',
    closed: 'CLOSED',
    settled: 'HANDLED',
  })
  const facts = await (await as('operator')).transferFacts({ channelCode: FULL, transferId: 'new' })
  assert.deepEqual(
    [facts.retry, facts.errorCode, facts.requestedBy, facts.attempts],
    ['POSSIBLE', 'connect_failed', 'operator', 1],
  )
  await leave(node, 'next', FULL, 'PENDING')
  assert.equal((await answers()).new, 'BUSY')
})

test('channels are found by words, status, partner, direction and category, page by page', async (t) => {
  const { node, admin } = await platformOf(t)
  await node.call('updateChannel', {
    code: PLAIN,
    body: { category: 'Facturas', direction: 'EMISION', name: 'Envíos' },
  })
  await leave(node, 'failed', CLOSED, 'FAILED')
  const codes = async (filter: Parameters<typeof admin.searchChannels>[0]) =>
    (await admin.searchChannels({ size: 10, ...filter })).content.map(({ code }) => code)
  assert.deepEqual(await codes({}), [PLAIN, FULL, CLOSED])
  assert.deepEqual(await codes({ search: 'ENVÍOS acme' }), [PLAIN])
  assert.deepEqual(await codes({ category: 'Facturas' }), [PLAIN])
  assert.deepEqual(await codes({ direction: 'EMISION' }), [PLAIN])
  assert.deepEqual(await codes({ contactId: 'beta' }), [CLOSED])
  assert.deepEqual(await codes({ status: 'ERROR' }), [CLOSED])
  assert.deepEqual(await codes({ status: 'IDLE' }), [PLAIN, FULL])
  assert.deepEqual(await codes({ status: 'ERROR', search: 'nothing' }), [])
  const page = await admin.searchChannels({ page: 2, size: 2 })
  assert.deepEqual([page.totalElements, page.totalPages, page.content[0]?.code], [3, 2, CLOSED])
  assert.deepEqual((await admin.channelFilters()).categories, ['Facturas', 'PAYROLL'])
  await assert.rejects(admin.searchChannels({ status: 'BROKEN' as 'IDLE' }), { status: 400 })
})

test('a channel is closed on the days that its calendar is closed on', async (t) => {
  const { node, admin } = await platformOf(t)
  const days = [-1, 0, 1].map((add) => new Date(Date.now() + add * 86_400_000).toISOString().slice(0, 10))
  const put = (calendar: Omit<Calendar, 'id'>) =>
    node.store.write((tx) => putCalendar(tx, { id: 'bank', ...calendar }))
  const statuses = async () => [
    (await node.call('channelStatus', { code: PLAIN })).body[0]['channel-status'],
    (await admin.searchChannels({ search: PLAIN })).content[0]?.status,
  ]
  await node.store.write((tx) =>
    tx.updateTable('channel').set({ calendar: 'bank' }).where('code', '=', PLAIN).execute(),
  )
  await put({ open: days })
  await node.call('updateChannel', { code: PLAIN, body: { name: 'with a calendar' } })
  assert.deepEqual(await statuses(), ['IDLE', 'IDLE'])
  await put({ closed: days })
  assert.deepEqual(await statuses(), ['CLOSED', 'CLOSED'])
})

test('a channel’s status in the list is the one that the status operation tells', async (t) => {
  const { node, admin } = await platformOf(t)
  await leave(node, 'failed', FULL, 'FAILED')
  await leave(node, 'pending', PLAIN, 'PENDING')
  const hours = {
    connection: { advancedConfigurationConnection: { initialHour: '00:00', finishHour: '00:01' } },
  }
  await node.call('updateChannel', { code: CLOSED, body: hours })
  const compare = async () => {
    for (const { code, status } of (await admin.searchChannels({ size: 10 })).content)
      assert.equal((await node.call('channelStatus', { code })).body[0]['channel-status'], status, code)
  }
  await compare()
  // Whatever it has behind it, a channel that is switched off is just that.
  for (const code of [FULL, PLAIN])
    await node.call('updateChannel', { code, body: { deactivateChannel: true } })
  await compare()
})

test('what is not open to the user is in no list, sum or failure', async (t) => {
  const { node, as } = await platformOf(t)
  await leave(node, 'hidden', CLOSED, 'FAILED')
  await leave(node, 'hidden-done', CLOSED, 'COMPLETED', Date.now() - 1)
  const outsider = await as('advoperator')
  const { channels, hours, failures } = await outsider.overview()
  assert.equal(channels.total, 2)
  assert.equal(failures?.total, 0)
  assert.ok(hours?.every((hour) => hour.completed + hour.failed === 0))
  assert.equal((await outsider.searchChannels({ size: 10 })).totalElements, 2)
  assert.equal((await outsider.searchChannels({ size: 10, status: 'ERROR' })).totalElements, 0)
  await assert.rejects(outsider.transferFacts({ channelCode: CLOSED, transferId: 'hidden' }), { status: 403 })
  assert.equal((await (await as('operator')).overview()).failures?.total, 1)
})

test('a role that may not read transfers sees channels alone', async (t) => {
  const { as } = await platformOf(t)
  const controller = await as('controlator')
  const { channels, active, hours, failures } = await controller.overview()
  assert.equal(channels.total, 2)
  assert.deepEqual([active, hours, failures], [undefined, undefined, undefined])
  await assert.rejects(controller.failedTransfers(), { status: 403 })
  await assert.rejects(controller.transferFacts({ channelCode: FULL, transferId: 'x' }), { status: 403 })
})

test('partners that cannot be reached are named to those who may see contacts', async (t) => {
  const { node, as, admin } = await platformOf(t)
  const health = { contactId: 'acme', failures: 4, openUntil: Date.now() + 60_000, error: 'no connection' }
  await node.store.write((tx) => putHealth(tx, health, Date.now()))
  const [partner] = (await admin.overview()).partners ?? []
  assert.deepEqual([partner?.name, partner?.failures, partner?.channels], ['acme SA', 4, 2])
  await node.store.write(async (tx) => {
    const auths = JSON.stringify({ operate: true })
    await tx.updateTable('account').set({ auths }).where('username', '=', 'operator').execute()
  })
  assert.equal((await (await as('operator')).overview()).partners, undefined)
})

test('of many partners that cannot be reached the worst are shown, and how many there are', async (t) => {
  const { node, admin } = await platformOf(t)
  await node.store.write(async (tx) => {
    for (let failures = 3; failures < 153; failures++) {
      const contactId = `partner${failures}`
      await putContact(tx, contactOf(contactId, `P${failures}`, []))
      await putHealth(tx, { contactId, failures, openUntil: 0, error: null }, Date.now())
    }
  })
  const { partners = [], partnersTotal } = await admin.overview()
  assert.deepEqual([partners.length, partnersTotal, partners[0]?.contactId], [100, 150, 'partner152'])
})

test('the session tells who is signed in, what the user may do now and until when', async (t) => {
  const { node, as } = await platformOf(t)
  const session = await (await as('operator')).session()
  assert.deepEqual([session.username, session.role, session.language], ['operator', 'ROLE_OPERATOR', 'es'])
  assert.deepEqual([session.auths.operate, session.auths.editChannels], [true, false])
  const hours = (Date.parse(session.expiresAt) - Date.parse(session.now)) / 3_600_000
  assert.ok(hours > 1.99 && hours <= 2)
  const { status } = await fetch(`${node.url}/connect-back/platform/v1/session`)
  assert.equal(status, 401)
})

testOnBoth(
  'channels are found by the names of their entities, also after these change',
  async (t, database) => {
    const { node, admin } = await platformOf(t, database)
    const found = async (search: string) =>
      (await admin.searchChannels({ search, size: 10 })).content.map(({ code }) => code)
    assert.deepEqual(await found('banco azul'), [PLAIN, FULL, CLOSED])
    assert.deepEqual(await found('beta main'), [CLOSED])
    await applyPlatform(
      node.store,
      node.context.seal,
      { localEntities: [{ code: 'BANCO', name: 'Banco Verde' }] },
      { prune: false, dryRun: false, now: Date.now() },
    )
    assert.deepEqual(await found('azul'), [])
    const [first] = (await admin.searchChannels({ search: 'verde', size: 10 })).content
    assert.deepEqual(
      [first?.code, first?.localEntity, first?.localName, first?.remoteEntity, first?.remoteName],
      [PLAIN, 'BANCO', 'Banco Verde', 'ACME', 'acme main'],
    )
  },
)

test('transfers of all channels are found by name, hash, channel, partner, status and day, as far as the user may reach', async (t) => {
  const { node, as, admin } = await platformOf(t)
  await leave(node, 'done-1', FULL, 'COMPLETED')
  await leave(node, 'failed-1', PLAIN, 'FAILED')
  await leave(node, 'done-2', CLOSED, 'COMPLETED')
  const ids = async (filter: object, who = admin) =>
    (await who.searchTransfers(filter)).content.map(({ transferId }) => transferId).sort()
  assert.deepEqual(await ids({}), ['done-1', 'done-2', 'failed-1'])
  assert.deepEqual(await ids({}, await as('advoperator')), ['done-1', 'failed-1'])
  assert.deepEqual(await ids({ status: 'FAILED' }), ['failed-1'])
  assert.deepEqual(await ids({ contactId: 'beta' }), ['done-2'])
  assert.deepEqual(await ids({ channels: 'nóminas' }), ['done-1'])
  assert.deepEqual(await ids({ channelCode: PLAIN }), ['failed-1'])
  assert.equal((await ids({ fileName: 'A.TXT' })).length, 3)
  assert.equal((await ids({ fileName: 'b*' })).length, 0)
  const today = new Date().toISOString().slice(0, 10)
  assert.equal((await ids({ initialDate: today, endDate: today })).length, 3)
  assert.equal((await ids({ endDate: '2020-01-01' })).length, 0)
  const { content, counted, more } = await admin.searchTransfers({ size: 1, sort: 'OLDEST' })
  assert.deepEqual([content[0]?.transferId, counted, more], ['done-1', 3, false])
  const { requestedAt: _at, startedAt: _started, endedAt: _ended, ...rest } = content[0] ?? {}
  assert.deepEqual(rest, {
    transferId: 'done-1',
    channelCode: FULL,
    channelName: 'Nóminas',
    contactId: 'acme',
    contactName: 'acme SA',
    direction: 'EMISION',
    status: 'COMPLETED',
    type: 'MANUAL',
    requestedBy: 'operator',
    files: 1,
    bytes: 1000,
    fileNames: ['a.txt'],
  })
  await assert.rejects(
    (await as('advoperator')).searchTransfers({ channelCode: CLOSED }),
    /not open to advoperator/,
  )
  await assert.rejects(admin.searchTransfers({ page: 1000, size: 1000 }), /at most 10000/)
  await assert.rejects(admin.searchTransfers({ hash: 'xyz' }), /hash/)
})

test('what was found is taken out as a table with a line for each file', async (t) => {
  const { node, as } = await platformOf(t)
  await leave(node, 'done-1', FULL, 'COMPLETED')
  await leave(node, 'done-2', CLOSED, 'COMPLETED')
  const answer = await (await as('advoperator')).exportTransfers({ fileName: '*.txt' })
  const [head, line, end] = (await answer.text()).split('\r\n')
  assert.equal(
    head,
    'transferId,channelCode,contactId,direction,status,type,requestedAt,requestedBy,startedAt,endedAt,error,fileName,size,hash,path',
  )
  assert.match(
    line ?? '',
    /^done-1,BANCO-ACME-NOMINA,acme,EMISION,COMPLETED,MANUAL,.*,a\.txt,1000,,\/a\.txt$/,
  )
  assert.equal(end, '')
})

test('failures are found by the words of their channel, reason and files together', async (t) => {
  const { node, admin } = await platformOf(t)
  await leave(node, 'failed-1', FULL, 'FAILED')
  await leave(node, 'failed-2', PLAIN, 'FAILED')
  const found = async (search: string) => (await admin.failedTransfers({ search, size: 10 })).totalElements
  assert.equal(await found('nóminas'), 1)
  assert.equal(await found('Connection'), 2)
  assert.equal(await found('connect_failed a.txt factura'), 1)
  assert.equal(await found('A.TXT nothing'), 0)
})

testOnBoth('more failures than are read at once do not hide those of other channels', async (t, database) => {
  const { node, as } = await platformOf(t, database)
  await leave(node, 'own', FULL, 'FAILED', Date.now() - 60_000)
  await leave(node, 'others-0', CLOSED, 'FAILED')
  await node.store.write(async (tx) => {
    const first = tx.selectFrom('transfer').selectAll().where('id', '=', 'others-0')
    const { position, ...row } = await first.executeTakeFirstOrThrow()
    const copies = Array.from({ length: 10_000 }, (_, index) => ({
      ...row,
      id: `others-${index + 1}`,
      position: position + index + 1,
    }))
    for (const some of batches(copies))
      await tx
        .insertInto('transfer')
        .values([...some])
        .execute()
  })
  const advanced = await as('advoperator')
  const { content } = await advanced.failedTransfers({ size: 10 })
  assert.deepEqual(
    content.map(({ transferId }) => transferId),
    ['own'],
  )
  assert.equal((await advanced.overview()).failures?.total, 1)
})
