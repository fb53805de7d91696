// How a request is read before its operation: charsets, escapes and queries, and in which order what is wrong is told.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BASE_PATH, operations } from '../../src/contract/operations.ts'
import type { Operation, OperationName } from '../../src/contract/operations.ts'
import { platformOperations } from '../../src/contract/platform.ts'
import { requestExample } from '../../src/http/document/examples.ts'
import { pathOf, request } from '../support/call.ts'
import { startTestHttp } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { allRows } from '../support/rows.ts'
import { FULL, PASSWORD, PLAIN } from '../support/seed.ts'

const names = Object.keys(operations) as OperationName[]
const bearer = async (node: TestNode, username = 'globaladmin') => ({
  authorization: `Bearer ${await node.token(username)}`,
})

test('a body in another charset than UTF-8 answers 415, whatever its bytes', async (t) => {
  const node = await startTestHttp(t)
  const send = (type: string, raw: string | Uint8Array<ArrayBuffer> = '{"name":"x"}') =>
    node.call('updateChannel', { code: PLAIN, raw, headers: { 'content-type': type } })
  for (const charset of ['utf-16', 'UTF-16LE', 'iso-8859-1', '"windows-1252"', 'us-ascii', 'utf-8x', '""']) {
    const answer = await send(`application/json; charset=${charset}`)
    assert.equal(answer.status, 415, charset)
    assert.match(answer.body.message, /UTF-8/)
  }
  const utf16 = new Uint8Array(Buffer.from('{"name":"x"}', 'utf16le'))
  assert.equal((await send('application/json;profile="a;charset=b"; Charset=utf-16le', utf16)).status, 415)
  for (const type of [
    'application/json;charset=UTF-8',
    'application/json; Charset="utf-8"',
    'application/json; profile=x',
  ])
    assert.equal((await send(type)).status, 200, type)
  // Where there is no body, its type says nothing.
  const empty = { raw: '', headers: { 'content-type': 'application/json; charset=utf-16' } }
  assert.equal((await node.call('resetChannel', { code: PLAIN, ...empty })).status, 200)
})

test('bytes that are not UTF-8 and lone surrogates are refused by place, and nothing is kept', async (t) => {
  const node = await startTestHttp(t)
  const before = await allRows(node.store)
  const headers = { 'content-type': 'application/json' }
  for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xe2, 0x82]]) {
    const raw = new Uint8Array(
      Buffer.concat([Buffer.from('{"name":"'), Buffer.from(bytes), Buffer.from('"}')]),
    )
    const answer = await node.call('updateChannel', { code: PLAIN, raw, headers })
    assert.equal(answer.status, 400)
    assert.match(answer.body.message, /UTF-8/)
  }
  for (const [name, raw, place] of [
    ['updateChannel', '{"name":"\\ud800"}', '/name'],
    ['updateChannel', '{"name":"\\udc00\\ud800"}', '/name'],
    ['updateChannel', '{"security":{"localKey":"a\\udfffb"}}', '/security/localKey'],
    ['updateChannel', '{"\\ud800":1}', 'the body'],
    ['updateDirectories', '[{"fileGroupsName":"\\ud83d"}]', '/0/fileGroupsName'],
    ['updateIps', '["\\ud800"]', '/0'],
    ['setInboundPath', '{"path":"/x\\ud800"}', '/path'],
  ] as const) {
    const { status, body } = await node.call(name, { code: PLAIN, raw, headers })
    assert.equal(status, 400, raw)
    assert.ok(body.message.startsWith(`${place} `), body.message)
    assert.match(body.message, /surrogate/)
  }
  assert.deepEqual(await allRows(node.store), before)
  const whole = await node.call('updateChannel', { code: PLAIN, raw: '{"name":"\\ud83d\\ude00 é"}', headers })
  assert.equal(whole.body.name, '😀 é')
})

test('a query parameter that the operation does not know answers 400, on every operation', async (t) => {
  const node = await startTestHttp(t)
  const all: Record<string, Operation> = { ...operations, ...platformOperations }
  const bodies: Record<string, unknown> = {
    loginV1: { email: 'admin@banco.example', password: PASSWORD },
    loginV2: { username: 'admin', password: PASSWORD },
    updateIps: [],
    updateDirectories: [],
    setOutboundPath: { path: node.files },
    setInboundPath: { path: node.files },
  }
  const before = await allRows(node.store)
  for (const [name, { method, path, body }] of Object.entries(all))
    for (const query of ['noSuchThing=asc', '__proto__=1', 'Page=1', '%70age%20=1', '=']) {
      const filled = path.replace('{channelCode}', PLAIN).replaceAll(/\{\w+\}/g, '0190')
      const answer = await request(`${node.url}${BASE_PATH}${filled}?${query}`, {
        method,
        headers: { ...(await bearer(node)), ...(method !== 'GET' && { 'content-type': 'application/json' }) },
        body:
          method === 'GET' ? null : JSON.stringify(bodies[name] ?? (body ? requestExample(name, body) : {})),
      })
      assert.equal(answer.status, 400, `${name}?${query}: ${answer.text}`)
      assert.match(answer.body.message, /^query parameter .*is not known here$/)
    }
  assert.deepEqual(await allRows(node.store), before)
})

test('an escape in the query that is none answers 400', async (t) => {
  const node = await startTestHttp(t)
  for (const query of ['contactId=%zz', 'contactId=%ff', 'contactId=%', 'contactId=ac%6', '%zz=1']) {
    const answer = await request(`${node.url}${pathOf('listChannels')}?${query}`, {
      headers: await bearer(node),
    })
    assert.equal(answer.status, 400, query)
    assert.match(answer.body.message, /escape/)
  }
})

test('an empty contactId counts as not given', async (t) => {
  const node = await startTestHttp(t)
  for (const name of ['listChannels', 'listContacts'] as const) {
    const all = (await node.call(name, { query: { size: 10 } })).body
    assert.ok(all.totalElements > 0)
    assert.deepEqual((await node.call(name, { query: { contactId: '', size: 10 } })).body, all)
  }
  const search = async (query: string) =>
    (await request(`${node.url}${BASE_PATH}/platform/v1/channels?${query}`, { headers: await bearer(node) }))
      .body
  assert.deepEqual(await search('contactId=&size=10'), await search('size=10'))
  // Where an operation knows none, an empty one is as unknown as any other parameter.
  for (const name of ['channelStatus', 'channelConfiguration'] as const) {
    const answer = await node.call(name, { code: PLAIN, query: { contactId: '' } })
    assert.equal(answer.status, 400)
    assert.equal(answer.body.message, 'query parameter contactId is not known here')
  }
})

test('a body that is nested deeply is refused for what it is', async (t) => {
  const node = await startTestHttp(t)
  const deep = (inner: string) => `${'['.repeat(100_000)}${inner}${']'.repeat(100_000)}`
  const headers = { 'content-type': 'application/json' }
  for (const name of ['resetChannel', 'retryTransfer', 'sendTransfer'] as const)
    for (const raw of [deep(''), `{"a":${deep('')}}`]) {
      const { status, body } = await node.call(name, { code: PLAIN, raw, headers })
      assert.equal(status, 400)
      assert.match(body.message, /^the body must be empty or \{\}/)
    }
  const update = (inner: string) =>
    node.call('updateChannel', { code: PLAIN, raw: `{"name":${deep(inner)}}`, headers })
  // A whole pair is looked for its half, and is none.
  assert.equal((await update('"\\ud83d\\ude00"')).body.message, '/name must be a string')
  const { status, body } = await update('"\\ud83d"')
  assert.equal(status, 400)
  assert.match(body.message, /^\/name(\/0){100,150}\/?… holds a lone surrogate/)
})

test('a page or size below 1 is named as such, and one that is no number as no number', async (t) => {
  const node = await startTestHttp(t)
  const message = async (query: Record<string, string>) => {
    const { status, body } = await node.call('listChannels', { query })
    assert.equal(status, 400)
    return body.message
  }
  assert.equal(await message({ page: '-1' }), 'query parameter page must be at least 1')
  assert.equal(await message({ size: '0' }), 'query parameter size must be at least 1')
  assert.equal(await message({ size: '-2147483649' }), 'query parameter size must be at least 1')
  assert.equal(await message({ page: '2147483648' }), 'query parameter page must be at most 2147483647')
  assert.equal(await message({ page: '9'.repeat(30) }), 'query parameter page must be at most 2147483647')
  for (const page of ['', 'x', '1.5', '1e3', '+1', ' 1', '--1'])
    assert.equal(await message({ page }), 'query parameter page must be an integer')
})

test('the token is asked for first, then the role, whatever is malformed in the path, the query or the body', async (t) => {
  const node = await startTestHttp(t)
  const malformed = { headers: { 'content-type': 'application/json; charset=utf-16' }, raw: '{' }
  for (const name of names) {
    const { roles, method, path, badCode } = operations[name] as Operation
    if (roles === 'public') continue
    const wrongPath = path.replace('{channelCode}', '%zz').replace('{transferId}', '%ff')
    const send = async (as: string | undefined, at: string) =>
      request(node.url + BASE_PATH + at, {
        method,
        headers: {
          ...(as !== undefined && (await bearer(node, as))),
          ...(method !== 'GET' && malformed.headers),
        },
        body: method === 'GET' ? null : malformed.raw,
      })
    for (const at of [
      wrongPath,
      `${wrongPath}?page=x&y=%zz`,
      `${path.replace('{channelCode}', PLAIN)}?page=x`,
    ]) {
      const answer = await send(undefined, at)
      assert.equal(answer.status, 401, `${name} ${at}: ${answer.text}`)
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
      if (at !== path) assert.ok((await send('globaladmin', at)).status >= 400, at)
    }
    if (!roles.includes('ROLE_CONTROLATOR'))
      assert.equal((await send('controlator', wrongPath)).status, 403, name)
    if (wrongPath === path) continue
    // As any other value that is no channel code.
    const answer = await send('globaladmin', wrongPath)
    assert.equal(answer.status, badCode, `${name}: ${answer.text}`)
    assert.match(answer.body.message, badCode === 400 ? /well-formed/ : /there is nothing at/)
  }
  const stale = await request(`${node.url}${pathOf('channelStatus', { code: FULL })}%zz`, {
    headers: { authorization: 'Bearer x' },
  })
  assert.equal(stale.status, 401)
  assert.equal((await request(`${node.url}${BASE_PATH}/nothing/%zz`)).status, 400)
})
