// Lists: the page's shape, its numbers, its order, and what a wrong query gets.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OperationName } from '../../src/contract/operations.ts'
import type { Context } from '../../src/http/context.ts'
import { buildServer } from '../../src/http/server.ts'
import { makeLog } from '../../src/log.ts'
import { addHistory } from '../../src/store/channels.ts'
import { channelAccessChanged } from '../../src/store/channel-access.ts'
import { startTestHttp, testOnBoth } from '../support/harness.ts'
import { CLOSED, contactOf, FULL, PERSON, PLAIN, plainChannel, seedChannel } from '../support/seed.ts'
import { putContact } from '../../src/store/contacts.ts'

const LISTS: OperationName[] = ['listChannels', 'channelHistory', 'listTransfers', 'listContacts']
const SORT = { empty: false, sorted: true, unsorted: false }

testOnBoth(
  'a page has exactly its eleven fields, for every list, also where nothing is left',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    for (const name of LISTS) {
      const first = (await node.call(name, { code: PLAIN })).body
      const { content, totalElements: total, ...rest } = first
      assert.deepEqual(rest, {
        totalPages: total,
        size: 1,
        number: 1,
        numberOfElements: content.length,
        first: true,
        last: total <= 1,
        empty: content.length === 0,
        sort: SORT,
        pageable: { offset: 0, sort: SORT, pageNumber: 1, pageSize: 1, paged: true, unpaged: false },
      })
      const past = (await node.call(name, { code: PLAIN, query: { page: 2_147_483_647, size: 1000 } })).body
      assert.deepEqual(
        [past.content, past.totalElements, past.number, past.first, past.last, past.empty],
        [[], total, 2_147_483_647, false, true, true],
      )
      assert.equal(past.pageable.offset, 2_147_483_646_000)
    }
  },
)

testOnBoth('pages cut the list without loss or repetition', async (t, database) => {
  const node = await startTestHttp(t, { database })
  await node.store.write(async (tx) => {
    for (let i = 0; i < 20; i++)
      await seedChannel(tx, node.context.seal, `BANCO-ACME-X${i}`, 'acme', plainChannel(node.files))
    await channelAccessChanged(tx)
    await addHistory(
      tx,
      PLAIN,
      Array.from({ length: 22 }, (_, at) => ({ at, event: 'KEY_RECEIVED' as const })),
    )
  })
  for (const [name, total] of [
    ['listChannels', 23],
    ['channelHistory', 23],
  ] as const)
    for (const size of [1, 4, 23, 24]) {
      const seen: string[] = []
      const pages = Math.ceil(total / size)
      for (let page = 1; page <= pages; page++) {
        const { body } = await node.call(name, { code: PLAIN, query: { page, size } })
        assert.deepEqual([body.totalElements, body.totalPages, body.last], [total, pages, page === pages])
        seen.push(...body.content.map((item: unknown) => JSON.stringify(item)))
      }
      assert.equal(seen.length, total)
      const whole = (await node.call(name, { code: PLAIN, query: { size: 100 } })).body.content.map(
        (item: unknown) => JSON.stringify(item),
      )
      assert.deepEqual(seen, whole)
    }
})

testOnBoth('channels come by code, contacts by id, history newest first', async (t, database) => {
  const node = await startTestHttp(t, { database })
  await node.store.write(async (tx) => {
    for (const id of ['Zeta', 'alfa', 'Ñu']) await putContact(tx, contactOf(id, 'X', []))
    for (const code of ['BANCO-ACME-a', 'BANCO-ACME-_', 'BANCO-ACME-Z', 'BANCO-ACME-.'])
      await seedChannel(tx, node.context.seal, code, 'acme', { ...plainChannel(node.files), name: code })
    await channelAccessChanged(tx)
  })
  const contacts = (await node.call('listContacts', { query: { size: 10 } })).body.content.map(
    (one: { id: string }) => one.id,
  )
  assert.deepEqual(contacts, ['Zeta', 'acme', 'alfa', 'beta', 'Ñu'])
  const channels = (await node.call('listChannels', { query: { size: 10 } })).body.content.map(
    (one: { name?: string; application: string }) => one.application,
  )
  assert.deepEqual(channels, ['.', 'FACTURA', 'NOMINA', 'Z', '_', 'a', 'NOMINA'])
  for (const body of [[], ['10.0.0.1']]) await node.call('updateIps', { code: PLAIN, body })
  const { content } = (await node.call('channelHistory', { code: PLAIN, query: { size: 10 } })).body
  assert.deepEqual(
    content.map((one: { event: string }) => one.event),
    ['IPS_UPDATED', 'IPS_UPDATED', 'CHANNEL_CREATED'],
  )
  assert.deepEqual(Object.keys(content[0]).sort(), ['channel-code', 'channel-id', 'datetime', 'event'])
  assert.equal(content[0]['channel-code'], PLAIN)
  assert.ok(!Number.isNaN(Date.parse(content[0].datetime)))
})

test('a size above the node’s maximum is served as the maximum', async (t) => {
  const node = await startTestHttp(t, { settings: { ESCLUSA_MAX_PAGE_SIZE: '2' } })
  const { body } = await node.call('listChannels', { query: { size: 2_147_483_647, page: 2 } })
  assert.deepEqual(
    [body.size, body.pageable.pageSize, body.totalPages, body.content.length, body.pageable.offset],
    [2, 2, 2, 1, 2],
  )
})

test('a malformed query is refused, and the message names the parameter', async (t) => {
  const node = await startTestHttp(t)
  for (const name of LISTS)
    for (const parameter of ['page', 'size'])
      for (const value of [
        '0',
        '-1',
        '2147483648',
        '1.5',
        '1e2',
        'x',
        '',
        ' 1',
        '٣',
        'null',
        '99999999999999999999',
      ]) {
        const answer = await node.call(name, { code: PLAIN, query: { [parameter]: value } })
        assert.equal(answer.status, 400, `${name} ${parameter}=${value}`)
        assert.match(answer.body.message, new RegExp(`query parameter ${parameter} `))
      }
  const twice = await fetch(`${node.url}/connect-back/integration/v2/channels?page=1&page=2`, {
    headers: { authorization: `Bearer ${await node.token('admin')}` },
  })
  assert.equal(twice.status, 400)
  const unknown = await node.call('listChannels', { query: { pagina: 1 } })
  assert.equal(unknown.status, 400)
  assert.match(unknown.body.message, /pagina/)
  assert.equal(
    (await node.call('listChannels', { query: { page: '007', size: '2147483647' } })).body.number,
    7,
  )
})

testOnBoth(
  'contactId keeps what belongs to that contact, and an unknown one gives an empty page',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const list = async (name: OperationName, contactId: string) =>
      (await node.call(name, { query: { contactId, size: 10 } })).body
    assert.deepEqual(
      (await list('listChannels', 'beta')).content.map((one: { users: string[] }) => one.users),
      [['operator']],
    )
    assert.equal((await list('listChannels', 'acme')).totalElements, 2)
    assert.deepEqual(
      (await list('listContacts', 'beta')).content.map((one: { id: string }) => one.id),
      ['beta'],
    )
    for (const name of ['listChannels', 'listContacts'] as const)
      for (const unknown of ['none', 'ACME', ' ', "' or 1=1 --", '__proto__', 'x'.repeat(255)]) {
        const page = await list(name, unknown)
        assert.deepEqual(
          [page.totalElements, page.content, page.totalPages],
          [0, [], 0],
          `${name} ${unknown}`,
        )
      }
    for (const name of ['listChannels', 'listContacts'] as const)
      assert.deepEqual((await list(name, 'x'.repeat(1000))).content, [], name)
    assert.equal((await node.call('listContacts', { query: { contactId: 'a\0' } })).status, 400)
  },
)

testOnBoth(
  'a contact is shown with its channels, codes, addresses and people, spelled as the interface spells them',
  async (t, database) => {
    const node = await startTestHttp(t, { database })
    const [acme, beta] = (await node.call('listContacts', { query: { size: 10 } })).body.content
    assert.deepEqual(acme, {
      id: 'acme',
      name: 'acme SA',
      version: '5.2',
      os: 'LINUX',
      channels: [PLAIN, FULL],
      remoteCodes: [{ id: 'rc1', code: 'ACME', name: 'acme main' }],
      remoteIPs: [{ id: 'ip1', ipAddress: '127.0.0.1', port: 3305 }],
      contactInfo: [PERSON],
    })
    assert.deepEqual(Object.keys(PERSON), [
      'id',
      'name',
      'lastName',
      'secondLastName',
      'email',
      'phone',
      'mobile',
      'address',
      'ocupation',
    ])
    assert.deepEqual(beta.channels, [CLOSED])
  },
)

test('channels are read when the server begins to listen, before anybody asks', async (t) => {
  const { context } = await startTestHttp(t)
  const asked: string[] = []
  const watched: Context = {
    ...context,
    channelAccess: (db, user) => {
      asked.push(user.role)
      return context.channelAccess(db, user)
    },
  }
  const app = buildServer(watched, { log: makeLog('silent', 'test') })
  await app.listen({ host: '127.0.0.1', port: 0 })
  await app.close() // which waits for it
  assert.deepEqual(asked, ['ROLE_GLOBALADMIN'])
})
