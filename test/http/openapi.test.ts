// The OpenAPI document beyond its syntax: names, references, examples that fit, headers, and answers that are as it says.

import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import assert from 'node:assert/strict'
import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import { BASE_PATH, operations } from '../../src/contract/operations.ts'
import type { Operation, OperationName } from '../../src/contract/operations.ts'
import { platformOperations } from '../../src/contract/platform.ts'
import { closedBecause } from '../../src/domain/channel.ts'
import { openApiDocument30 } from '../../src/http/document/openapi-3-0.ts'
import { openApiDocument } from '../../src/http/document/openapi.ts'
import { request } from '../support/call.ts'
import { startTestHttp } from '../support/harness.ts'
import { FULL, PASSWORD, PLAIN } from '../support/seed.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- looked into by key
type Json = Record<string, any>

const document: Json = openApiDocument()
const older: Json = openApiDocument30()
const names = Object.keys(operations) as OperationName[]

const entryOf = (of: Json, name: OperationName): Json =>
  of.paths[operations[name].path][operations[name].method.toLowerCase()]

function* entries(of: Json): Generator<[string, Json]> {
  for (const [path, item] of Object.entries<Json>(of.paths))
    for (const method of ['get', 'post', 'put', 'delete'])
      if (item[method]) yield [`${method} ${path}`, item[method]]
}

const DESCRIBED =
  'ChannelResponse ChannelDirectoryResponse ChannelIntegrationResponse ChannelSecurityResponse ChannelPlanningResponse ChannelStatusResponse ChannelHistoryResponse ChannelPath Transfer TransferFile Contact ContactPerson PageChannelResponse PageChannelHistoryResponse PageTransfer PageContact'

test('components have the description’s names, each is used by reference, and none is written out again', () => {
  for (const one of [document, older]) {
    const text = JSON.stringify(one)
    for (const name of DESCRIBED.split(' ')) assert.ok(name in one.components.schemas, name)
    for (const kind of ['schemas', 'examples', 'headers'])
      for (const [name, component] of Object.entries(one.components[kind])) {
        assert.ok(text.includes(`"#/components/${kind}/${name}"`), `${kind}/${name} is used nowhere`)
        assert.equal(
          text.split(JSON.stringify(component)).length - 1,
          1,
          `${kind}/${name} stands there twice`,
        )
      }
  }
})

test('operation 7 takes the component that it returns, and 9 the directories of it', () => {
  for (const one of [document, older]) {
    const { requestBody, responses } = entryOf(one, 'updateChannel')
    const taken = requestBody.content['application/json'].schema
    assert.deepEqual(taken, { $ref: '#/components/schemas/ChannelResponse' })
    assert.deepEqual(responses[200].content['application/json'].schema, taken)
    assert.deepEqual(entryOf(one, 'updateDirectories').requestBody.content['application/json'].schema.items, {
      $ref: '#/components/schemas/ChannelDirectoryResponse',
    })
  }
})

test('page and size are required where the description says so', () => {
  const required = (name: OperationName) =>
    entryOf(document, name)
      .parameters.filter((one: Json) => one.in === 'query' && one.required)
      .map((one: Json) => one.name)
  for (const name of ['listChannels', 'listTransfers', 'listContacts'] as const)
    assert.deepEqual(required(name), ['page', 'size'], name)
  assert.deepEqual(required('channelHistory'), [])
})

test('every operation says when each of its codes comes, and shows a request, an answer and the headers', () => {
  for (const [what, { description, responses, requestBody, tags }] of entries(document)) {
    if (!what.includes('/integration/') && !what.includes('/platform/')) continue
    assert.ok(tags.length === 1)
    for (const [code, response] of Object.entries<Json>(responses)) {
      if (code !== '200' && code !== 'default')
        assert.ok(description.includes(`**${code}** ${response.description}`))
      assert.ok(response.description.length > 4, `${what} ${code}`)
      assert.ok('Cache-Control' in response.headers)
      const [content] = Object.entries<Json>(response.content)
      if (code !== 'default' && content?.[0] === 'application/json')
        assert.ok(content[1].examples.example, `${what} ${code} has no example`)
    }
    const asked = requestBody?.content['application/json']
    if (asked) assert.ok(asked.examples.example, what)
    else if (requestBody) assert.equal(Object.values<Json>(requestBody.content)[0]?.schema.format, 'binary')
    if (responses[401]) assert.ok('WWW-Authenticate' in responses[401].headers)
    if (responses[429]) assert.ok('Retry-After' in responses[429].headers)
  }
  for (const response of Object.values<Json>(entryOf(document, 'loginV2').responses))
    assert.ok('Deprecation' in response.headers)
  assert.ok('ETag' in entryOf(document, 'channelConfiguration').responses[200].headers)
  // A header that the interface does not know would be one more argument of every generated client.
  for (const name of names)
    assert.ok(!entryOf(document, name).parameters.some((one: Json) => one.in === 'header'), name)
  assert.match(entryOf(document, 'sendTransfer').description, /emission is pending or in progress/)
  assert.match(entryOf(document, 'retryTransfer').description, /neither retried nor reset/)
})

test('operations of administration name 404 and 412 only where they can come', () => {
  const codesOf = (method: string, path: string) =>
    Object.keys(document.paths[`/platform/v1/${path}`][method].responses).filter(
      (code) => code === '404' || code === '412',
    )
  for (const things of ['users', 'local-entities', 'contacts', 'tokens'])
    assert.deepEqual(codesOf('get', things), [], things)
  for (const things of ['users', 'local-entities', 'contacts', 'channels'])
    assert.deepEqual(codesOf('post', things), [], things)
  for (const thing of [
    'calendars/{calendarId}',
    'subscriptions/{subscriptionId}',
    'expectations/{expectationId}',
  ]) {
    assert.deepEqual(codesOf('get', thing), ['404'], thing)
    assert.deepEqual(codesOf('put', thing), ['412'], thing)
    assert.deepEqual(codesOf('delete', thing), ['404', '412'], thing)
  }
  assert.deepEqual(codesOf('post', 'channels/{channelCode}/copy'), ['404'])
  assert.deepEqual(codesOf('put', 'users/{username}'), ['404', '412'])
})

test('what the node adds beside the interface is there, under tags of its own', () => {
  const own = new Set(['Login', 'Channels', 'Transfers', 'Contacts'])
  for (const [what, { tags }] of entries(document))
    assert.equal(own.has(tags[0]), what.includes(' /integration/'), what)
  for (const path of [
    '/events',
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/openapi-3.0.json',
    '/docs',
  ])
    assert.ok(document.paths[path], path)
  const listed = document.tags.map((tag: Json) => tag.name)
  for (const [, { tags }] of entries(document)) assert.ok(listed.includes(tags[0]))
})

test('the 3.0.3 document has the same operations and none of the newer keywords', () => {
  assert.equal(older.openapi, '3.0.3')
  assert.deepEqual(
    [...entries(older)].map(([what, { operationId }]) => [what, operationId]),
    [...entries(document)].map(([what, { operationId }]) => [what, operationId]),
  )
  const walk = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    // Under `properties` the keys are names of fields.
    if (!Array.isArray(value) && !at.endsWith('/properties')) {
      assert.ok(!('const' in value) && !('identifier' in value), at)
      assert.ok(!('type' in value) || typeof value.type === 'string', at)
      if ('$ref' in value) assert.equal(Object.keys(value).length, 1, at)
    }
    for (const [key, inner] of Object.entries(value)) walk(inner, `${at}/${key}`)
  }
  walk(older.paths, 'paths')
  walk(older.components, 'components')
})

function validator() {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  for (const format of ['int32', 'int64']) ajv.addFormat(format, true)
  ajv.addSchema({ $id: 'doc', components: document.components })
  return (schema: Json, value: unknown, what: string) => {
    const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"doc#/components')) as Json
    const check = ajv.compile(local)
    assert.ok(
      check(value),
      `${what}: ${JSON.stringify(check.errors)}\n${JSON.stringify(value).slice(0, 500)}`,
    )
  }
}

test('every example fits its schema', () => {
  const fits = validator()
  let count = 0
  const look = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    const { schema, examples, example } = value as Json
    if (schema && example !== undefined) fits(schema, example, at)
    if (schema && examples)
      for (const one of Object.values<Json>(examples)) {
        const { value: shown } = one.$ref ? document.components.examples[one.$ref.split('/').at(-1)] : one
        fits(schema, shown, at)
        count++
      }
    for (const [key, inner] of Object.entries(value)) look(inner, `${at}/${key}`)
  }
  look(document.paths, '')
  look(document.components.headers, 'headers')
  assert.ok(count > 150, `${count} examples`)
})

test('a node’s answers are as the document says, and so are its errors', async (t) => {
  const fits = validator()
  const node = await startTestHttp(t)
  const file = join(node.files, 'out', 'a.txt')
  await writeFile(file, 'a')
  await utimes(file, 1_700_000_000, 1_700_000_000)
  const bodies: Partial<Record<OperationName, unknown>> = {
    loginV1: { email: 'admin@banco.example', password: PASSWORD },
    loginV2: { username: 'admin', password: PASSWORD },
    updateChannel: { name: 'x' },
    updateIps: ['127.0.0.1'],
    updateDirectories: [{ direction: 'EMISION', filePath: join(node.files, 'out') }],
    setOutboundPath: { path: join(node.files, 'out') },
    setInboundPath: { path: join(node.files, 'in') },
  }
  const order = names.toSorted((a, b) => Number(a === 'retryTransfer') - Number(b === 'retryTransfer'))
  const sent = (await node.call('sendTransfer', { code: FULL, as: 'operator' })).body
  for (const name of order) {
    const code = ['updateDirectories', 'setOutboundPath', 'setInboundPath', 'sendTransfer'].includes(name)
      ? PLAIN
      : FULL
    for (const as of ['globaladmin', 'controlator', null]) {
      const body = bodies[name]
      const {
        status,
        body: answer,
        headers,
        text,
      } = await node.call(name, {
        as: (operations[name] as Operation).roles === 'public' ? null : as,
        code,
        transferId: sent.transferId ?? 'none',
        ...(body !== undefined && { body }),
      })
      const response = entryOf(document, name).responses[status]
      assert.ok(response, `${name} answers ${status}: ${text}`)
      fits(response.content['application/json'].schema, answer, `${name} ${status}`)
      // Warning stands there only where there is something to warn of.
      for (const header of Object.keys(response.headers).filter((one) => one !== 'Warning'))
        assert.ok(headers.get(header), `${name} ${status} ${header}`)
    }
  }
})

test('the document has the codes of unknown query parameters, and of the console’s session on another site', async (t) => {
  const node = await startTestHttp(t)
  const authorization = `Bearer ${await node.token('globaladmin')}`
  const signedIn = await request(`${node.url}${BASE_PATH}/platform/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'globaladmin', password: PASSWORD }),
  })
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  for (const [name, operation] of Object.entries<Operation>({ ...operations, ...platformOperations })) {
    const { method, path, roles } = operation
    const { responses } = document.paths[path][method.toLowerCase()]
    const url = `${node.url}${BASE_PATH}${path.replace('{channelCode}', PLAIN).replaceAll(/[{}]/g, '')}`
    const unknown = await request(`${url}?unknown=1`, { method, headers: { authorization } })
    assert.equal(unknown.status, 400, `${name}: ${unknown.text}`)
    assert.ok(responses[400], `${name} has no 400`)
    if (roles === 'public') continue
    const elsewhere = await request(url, { method, headers: { cookie, 'sec-fetch-site': 'cross-site' } })
    assert.equal(elsewhere.status, 403, `${name}: ${elsewhere.text}`)
    assert.ok(responses[403], `${name} has no 403`)
  }
})

test('examples show what the operation itself answers: what was asked for waits, a login knows no token, both ways are open', async (t) => {
  const node = await startTestHttp(t)
  const shown = (name: OperationName, status = 200): Json => {
    const { example } = entryOf(document, name).responses[status].content['application/json'].examples
    return (example.$ref ? document.components.examples[example.$ref.split('/').at(-1)] : example).value
  }
  const file = join(node.files, 'out', 'a.txt')
  await writeFile(file, 'a')
  await utimes(file, 1_700_000_000, 1_700_000_000)
  const sent = (await node.call('sendTransfer', { code: FULL, as: 'operator' })).body
  assert.deepEqual(Object.keys(shown('sendTransfer')), Object.keys(sent))
  assert.deepEqual(Object.keys(shown('sendTransfer').files[0]), Object.keys(sent.files[0]))
  assert.deepEqual([shown('sendTransfer').status, shown('sendTransfer').type], [sent.status, sent.type])
  assert.deepEqual(shown('retryTransfer'), { ...shown('sendTransfer'), type: 'RETRY' })

  const credentials = { loginV1: { email: 'x', password: 'x' }, loginV2: { username: 'x', password: 'x' } }
  for (const name of ['loginV1', 'loginV2'] as const) {
    const { body } = await node.call(name, { as: null, body: credentials[name] })
    assert.deepEqual({ ...shown(name, 401), timestamp: body.timestamp }, body)
  }
  const [channel] = shown('channelConfiguration') as Channel[]
  for (const way of ['EMISION', 'RECEPCION'] as const)
    assert.equal(closedBecause(channel ?? {}, way), undefined)
})
