// One body for every error, and what HTTP itself asks for: methods, sizes, media types, HEAD, empty bodies.

import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { connect } from 'node:net'
import { test } from 'node:test'
import { BASE_PATH, operations } from '../../src/contract/operations.ts'
import type { OperationName } from '../../src/contract/operations.ts'
import { callPlatform, pathOf, request } from '../support/call.ts'
import type { Answer } from '../support/call.ts'
import { postgres, startTestHttp, startTestNode } from '../support/harness.ts'
import { skipWithoutPrlimit, withNothingToOpen } from '../support/open-files.ts'
import { FULL, PLAIN } from '../support/seed.ts'

const names = Object.keys(operations) as OperationName[]
const path = (name: OperationName, code = PLAIN) => pathOf(name, { code })

function assertErrorBody(answer: Answer, status: number, error: string, path: string): void {
  assert.equal(answer.status, status, answer.text)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  assert.deepEqual(Object.keys(answer.body).sort(), ['error', 'message', 'path', 'status', 'timestamp'])
  assert.match(answer.body.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$/)
  assert.equal(answer.body.status, status)
  assert.equal(answer.body.error, error)
  assert.equal(answer.body.path, path)
  assert.ok(answer.body.message.length > 0)
}

test('every error has the one body, with the path under its prefix and without the query', async (t) => {
  const node = await startTestHttp(t, { settings: { ESCLUSA_TIMEZONE: 'Europe/Madrid' } })
  assertErrorBody(await node.call('listChannels', { as: null }), 401, 'Unauthorized', path('listChannels'))
  assertErrorBody(
    await node.call('listTransfers', { as: 'controlator', code: PLAIN }),
    403,
    'Forbidden',
    path('listTransfers'),
  )
  const page = await node.call('listChannels', { query: { page: 0 } })
  assertErrorBody(page, 400, 'Bad Request', path('listChannels'))
  assert.match(page.body.timestamp, /[+]0[12]:00$/)
  assertErrorBody(
    await node.call('channelStatus', { code: 'NO-SUCH-ONE' }),
    404,
    'Not Found',
    path('channelStatus', 'NO-SUCH-ONE'),
  )
  assertErrorBody(await node.call('sendTransfer', { code: PLAIN }), 409, 'Conflict', path('sendTransfer'))
  assertErrorBody(
    await request(`${node.url}/connect-back/nothing?x=1`),
    404,
    'Not Found',
    '/connect-back/nothing',
  )
  assertErrorBody(await request(`${node.url}/nothing`), 404, 'Not Found', '/nothing')
  const authorization = `Bearer ${await node.token('admin')}`
  const bad = await request(`${node.url}${BASE_PATH}/integration/v2/channels/%zz/status`, {
    headers: { authorization },
  })
  assertErrorBody(bad, 400, 'Bad Request', `${BASE_PATH}/integration/v2/channels/%zz/status`)
})

test('where the disk of the database is full, writes are answered 503 with the reason and reads go on', async (t) => {
  const node = await startTestHttp(t)
  await node.store.write((tx) => sql`pragma max_page_count = 1`.execute(tx)) // never less than there are
  const update = (nth: number) =>
    node.call('updateChannel', { code: PLAIN, body: { category: `${nth}`.repeat(20) } })
  // The last pages have some room yet.
  let answer = await update(0)
  for (let nth = 1; answer.status === 200 && nth < 500; nth++) answer = await update(nth)
  assertErrorBody(answer, 503, 'Service Unavailable', path('updateChannel'))
  assert.equal(answer.body.message, 'the database’s disk is full')
  assert.equal(answer.headers.get('retry-after'), '60')
  assert.equal((await node.call('channelStatus', { code: PLAIN })).status, 200)
})

test('where the database cannot be written the node is not ready, until it can be again', async (t) => {
  const node = await startTestNode(t)
  // The other writes of the node go on, so that it can end in good order.
  await node.store.write((tx) =>
    sql`create trigger refusal before insert on meta begin select raise(abort, 'refused'); end`.execute(tx),
  )
  const answer = await request(`${node.url}/readyz`)
  assert.equal(answer.status, 503)
  assert.deepEqual(answer.body, { status: 'not ready', reason: 'the database cannot be written' })
  await node.store.write((tx) => sql`drop trigger refusal`.execute(tx))
  assert.equal((await request(`${node.url}/readyz`)).status, 200)
})

const { skip = false } = postgres

test(
  'where the database hangs, whoever asks whether the node is ready is told so before it answers',
  { skip },
  async (t) => {
    // A transaction may be left idle for half of a lease.
    const node = await startTestNode(t, { database: postgres, settings: { ESCLUSA_LEASE_SECONDS: '120' } })
    // At two steps: the read of the table, and the write alone.
    for (const mode of ['access exclusive', 'exclusive'])
      await node.store.write(async (tx) => {
        await sql`lock table meta in ${sql.raw(mode)} mode`.execute(tx)
        const answer = await request(`${node.url}/readyz`)
        assert.deepEqual(
          [answer.status, answer.body],
          [503, { status: 'not ready', reason: 'the database does not answer' }],
        )
      })
    assert.equal((await request(`${node.url}/readyz`)).status, 200)
  },
)

test('what is no HTTP request, or has too large a head, is answered with the one body too', async (t) => {
  const node = await startTestHttp(t)
  const broken = await sendRaw(node.url, 'HELO esclusa\r\n\r\n')
  assertErrorBody(broken, 400, 'Bad Request', '')
  const large = await sendRaw(node.url, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`)
  assertErrorBody(large, 431, 'Request Header Fields Too Large', '')
  const path = pathOf('listChannels', {})
  const homeless = await sendRaw(node.url, `GET ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`)
  assertErrorBody(homeless, 400, 'Bad Request', path)
  const expecting = 'HTTP/1.1\r\nHost: a\r\nExpect: banana\r\nConnection: close'
  assertErrorBody(await sendRaw(node.url, `GET ${path} ${expecting}\r\n\r\n`), 401, 'Unauthorized', path)
})

/** Writes as it is; once all is sent, reads until the node hangs up. */
async function rawAnswers(url: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await new Promise<void>((sent, failed) => {
    socket.once('error', failed)
    socket.write(text, () => sent())
  })
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

async function sendRaw(url: string, text: string): Promise<Answer> {
  const [head = '', body = ''] = (await rawAnswers(url, text)).split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = new Headers(lines.map((line) => line.split(': ') as [string, string]))
  return { status: Number(first.split(' ')[1]), headers, text: body, body: JSON.parse(body) }
}

test('a known path with another method answers 405 and says in Allow what it takes', async (t) => {
  const node = await startTestHttp(t)
  for (const name of names) {
    const at = pathOf(name, { code: PLAIN, transferId: '0190' })
    for (const method of ['DELETE', 'PATCH', 'PUT', 'POST', 'GET', 'OPTIONS', 'PROPFIND']) {
      const known = names.filter((other) => pathOf(other, { code: PLAIN, transferId: '0190' }) === at)
      if (known.some((other) => operations[other].method === method)) continue
      // `transfers/reset` read with GET is a transfer of that name.
      if (method === 'GET' && at.includes('/transfers/')) continue
      const answer = await request(node.url + at, { method })
      assertErrorBody(answer, 405, 'Method Not Allowed', at)
      const allow = answer.headers.get('allow') ?? ''
      assert.ok(allow.split(', ').includes(operations[name].method), `${method} ${at}: ${allow}`)
      if (operations[name].method === 'GET') assert.ok(allow.includes('HEAD'))
    }
  }
})

test('a known path with another method answers 405 whatever body comes with it, an unknown one 404', async (t) => {
  const node = await startTestHttp(t)
  const headers = { authorization: `Bearer ${await node.token('admin')}` }
  const bodies: [type: string, body: string][] = [
    ['application/merge-patch+json', '{}'],
    ['text/plain', 'x'],
    ['nonsense', 'x'],
    ['application/json', '{'],
    ['application/json', `"${'x'.repeat(2_000_000)}"`],
  ]
  for (const [type, body] of bodies) {
    const send = (method: string, at: string) =>
      request(node.url + at, { method, headers: { ...headers, 'content-type': type }, body })
    assertErrorBody(
      await send('PATCH', path('updateChannel')),
      405,
      'Method Not Allowed',
      path('updateChannel'),
    )
    const answer = await send('POST', path('listChannels'))
    assertErrorBody(answer, 405, 'Method Not Allowed', path('listChannels'))
    assert.equal(answer.headers.get('allow'), 'GET, HEAD')
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assertErrorBody(await send('POST', '/connect-back/nothing'), 404, 'Not Found', '/connect-back/nothing')
  }
})

test('HEAD answers as GET does, without the body', async (t) => {
  const node = await startTestHttp(t)
  const headers = { authorization: `Bearer ${await node.token('admin')}` }
  for (const name of names.filter((one) => operations[one].method === 'GET' && one !== 'transferDetail')) {
    const url = node.url + pathOf(name, { code: FULL })
    const [get, head] = [await request(url, { headers }), await request(url, { headers, method: 'HEAD' })]
    assert.equal(head.status, 200, name)
    assert.equal(head.text, '')
    assert.equal(head.headers.get('content-length'), get.headers.get('content-length'))
  }
  assert.equal((await request(node.url + pathOf('listChannels'), { method: 'HEAD' })).status, 401)
})

test('a body over a mebibyte answers 413', async (t) => {
  const node = await startTestHttp(t)
  const raw = `{"name":"${'x'.repeat(1_048_576)}"}`
  const answer = await node.call('updateChannel', {
    code: PLAIN,
    raw,
    headers: { 'content-type': 'application/json' },
  })
  assertErrorBody(answer, 413, 'Payload Too Large', pathOf('updateChannel', { code: PLAIN }))
  assert.equal(answer.body.message, 'the body is larger than this operation takes (1 MiB)')
})

test('a client that reads no answer before it has sent its whole body gets the 413 too', async (t) => {
  const node = await startTestHttp(t)
  const body = 'x'.repeat(5_000_000)
  const fields = ['Host: a', 'Content-Type: application/json', `Content-Length: ${body.length}`]
  const ask = (more: string[]) =>
    [`POST ${path('loginV2')} HTTP/1.1`, ...fields, ...more, '', body].join('\r\n')
  const last = await sendRaw(node.url, ask(['Connection: close']))
  assertErrorBody(last, 413, 'Payload Too Large', path('loginV2'))
  // The connection goes on where the client wants that: the answer to a second request follows.
  const after = `GET ${path('loginV2')} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
  const text = await rawAnswers(node.url, ask([]) + after)
  assert.deepEqual(text.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 413', 'HTTP/1.1 405'])
})

test('a platform file over its own limit answers 413 with that limit', async (t) => {
  const node = await startTestHttp(t)
  const answer = await callPlatform(node, 'applyPlatformFile', 'admin', {
    body: { file: 'x'.repeat(64 * 1_048_576) },
  })
  assert.equal(answer.status, 413)
  assert.equal(answer.body.message, 'the body is larger than this operation takes (64 MiB)')
})

test('a body that is not JSON answers 415, one that is broken JSON 400', async (t) => {
  const node = await startTestHttp(t)
  const send = (raw: string, type: string) =>
    node.call('updateChannel', { code: PLAIN, raw, headers: { 'content-type': type } })
  for (const type of [
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'nonsense',
  ])
    assertErrorBody(
      await send('{}', type),
      415,
      'Unsupported Media Type',
      pathOf('updateChannel', { code: PLAIN }),
    )
  for (const type of ['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON'])
    assert.equal((await send('{}', type)).status, 200, type)
  for (const raw of [
    '{',
    '{"a":1,}',
    'undefined',
    "{'a':1}",
    '{"__proto__":{"x":1}}',
    '{"constructor":{"prototype":{}}}',
    '\ufeff{',
    '{"name":"\u0001"}',
  ])
    assert.equal((await send(raw, 'application/json')).status, 400, raw)
  const named = async (raw: string) => (await send(raw, 'application/json')).body.message
  assert.match(await named('{"a":{"\\u005f_proto__":1}}'), /a key that is not taken: __proto__$/)
  assert.match(await named('{"constructor":{"prototype":{}}}'), /not taken: prototype of constructor$/)
  assert.match(await named('{"__proto__":'), /not well-formed JSON/)
})

test('reset, retry and send take an empty body of any type or {}, and nothing else', async (t) => {
  const node = await startTestHttp(t)
  for (const name of ['resetChannel', 'retryTransfer', 'sendTransfer'] as const) {
    const fine = name === 'resetChannel' ? 200 : 409
    const status = async (raw: string | undefined, type?: string) =>
      (
        await node.call(name, {
          code: PLAIN,
          ...(raw !== undefined && { raw }),
          headers: type ? { 'content-type': type } : {},
        })
      ).status
    assert.equal(await status(undefined), fine)
    for (const type of [
      'application/json',
      'text/plain',
      'application/octet-stream',
      'application/x-www-form-urlencoded',
      'nonsense',
      '',
    ])
      assert.equal(await status('', type), fine, `empty ${type}`)
    assert.equal(await status('{}', 'application/json'), fine)
    assert.equal(await status(' { } ', 'application/json; charset=utf-8'), fine)
    for (const raw of ['{"a":1}', '[]', 'null', '"x"', '0', 'false'])
      assert.equal(await status(raw, 'application/json'), 400, raw)
    assert.equal(await status('x', 'text/plain'), 415)
  }
})

test('a fault of the node answers 500 without a word of what it was, and the log has it under the request id', async (t) => {
  const lines: Record<string, unknown>[] = []
  const { pino } = await import('pino')
  const log = pino(
    { level: 'error' },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  )
  const node = await startTestHttp(t, { log })
  const token = await node.token('admin')
  node.context.channelAccess = () => Promise.reject(new Error('table secret_table is broken at /srv/db'))
  const answer = await node.call('listChannels', { as: null, headers: { authorization: `Bearer ${token}` } })
  assertErrorBody(answer, 500, 'Internal Server Error', pathOf('listChannels'))
  assert.ok(!answer.text.includes('secret_table') && !answer.text.includes('/srv/db'))
  const id = /request (\S+)/.exec(answer.body.message)?.[1]
  assert.ok(
    lines.some((line) => line.reqId === id && JSON.stringify(line).includes('secret_table')),
    JSON.stringify(lines),
  )
})

test(
  'a node that can open nothing more answers 503 and what to do',
  { skip: skipWithoutPrlimit },
  async (t) => {
    const node = await startTestNode(t, { settings: { ESCLUSA_METRICS_NETWORKS: '127.0.0.1' } })
    const metrics = () => request(`${node.url}/metrics`)
    assert.equal((await metrics()).status, 200)
    const answer = await withNothingToOpen(metrics)
    assertErrorBody(answer, 503, 'Service Unavailable', '/metrics')
    assert.match(answer.body.message, /raise the node’s limit of open files/)
    assert.equal((await metrics()).status, 200)
  },
)
