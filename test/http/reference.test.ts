// Every operation of the table has a route, an entry in the OpenAPI document and a section of the reference page; the
// document passes a public linter; the shapes are spelled as the interface spells them.

import assert from 'node:assert/strict'
import fastify from 'fastify'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { BASE_PATH, operations } from '../../src/contract/operations.ts'
import type { Operation, OperationName } from '../../src/contract/operations.ts'
import { openApiDocument30 } from '../../src/http/document/openapi-3-0.ts'
import { openApiDocument } from '../../src/http/document/openapi.ts'
import { addDocument } from '../../src/http/document/routes.ts'
import { referencePage } from '../../src/http/document/reference-page.ts'
import { pathOf, request } from '../support/call.ts'
import { startTestHttp, startTestNode, tempFolder } from '../support/harness.ts'
import { PLAIN } from '../support/seed.ts'

const names = Object.keys(operations) as OperationName[]

// The interface's own table, said once more by hand.
const INTERFACE: [number, string, string][] = [
  [1, 'POST', '/integration/v1/auth/login'],
  [2, 'POST', '/integration/v2/auth/login'],
  [3, 'GET', '/integration/v2/channels'],
  [4, 'GET', '/integration/v2/channels/{channelCode}/configuration'],
  [5, 'GET', '/integration/v2/channels/{channelCode}/status'],
  [6, 'GET', '/integration/v2/channels/{channelCode}/history'],
  [7, 'POST', '/integration/v2/channels/{channelCode}/update'],
  [8, 'POST', '/integration/v2/channels/{channelCode}/update/ips'],
  [9, 'POST', '/integration/v2/channels/{channelCode}/update/directories'],
  [10, 'PUT', '/integration/v2/channels/{channelCode}/config/outbound-path'],
  [11, 'PUT', '/integration/v2/channels/{channelCode}/config/inbound-path'],
  [12, 'GET', '/integration/v2/channels/{channelCode}/transfers'],
  [13, 'GET', '/integration/v2/channels/{channelCode}/transfers/{transferId}'],
  [14, 'POST', '/integration/v2/channels/{channelCode}/transfers/reset'],
  [15, 'POST', '/integration/v2/channels/{channelCode}/transfers/retry'],
  [16, 'POST', '/integration/v2/channels/{channelCode}/transfers/send'],
  [17, 'GET', '/integration/v2/contacts'],
]

/** Codes the interface declares beside 200, by number of operation. */
const DECLARED: [number[], number[]][] = [
  [[2], [401]],
  [
    [3, 17],
    [401, 403, 500],
  ],
  [
    [4, 6, 12, 13],
    [401, 403, 404, 500],
  ],
  [
    [5, 7, 8, 9, 10, 11],
    [400, 401, 403, 404, 500],
  ],
  [
    [14, 15, 16],
    [400, 401, 403, 404, 409, 500],
  ],
]

// oxlint-disable-next-line typescript/no-explicit-any -- looked into by key
type Json = Record<string, any>

test('the table has the 17 operations of the interface, with their methods, paths and declared codes', () => {
  assert.deepEqual(
    names.map((name) => [operations[name].number, operations[name].method, operations[name].path]),
    INTERFACE,
  )
  for (const [numbers, codes] of DECLARED)
    for (const number of numbers) {
      const operation = Object.values(operations).find((one) => one.number === number)
      for (const code of codes)
        assert.ok(
          (operation?.codes as readonly number[] | undefined)?.includes(code),
          `${number} lacks ${code}`,
        )
    }
})

test('every operation has a route: none answers 404 or 405 for its path', async (t) => {
  const node = await startTestHttp(t)
  for (const name of names) {
    const { status } = await request(node.url + pathOf(name, { code: PLAIN, transferId: 'x' }), {
      method: operations[name].method,
    })
    assert.equal(status, operations[name].roles === 'public' ? 400 : 401, name)
  }
})

test('every operation is in the OpenAPI document with every code and its body, and on the page', () => {
  const document: Json = openApiDocument()
  const page = referencePage()
  assert.equal(document.openapi.slice(0, 3), '3.1')
  assert.equal(document.info.version, '3.3.10')
  for (const name of names) {
    const operation: Operation = operations[name]
    const entry = document.paths[operation.path]?.[operation.method.toLowerCase()]
    assert.ok(entry, name)
    assert.deepEqual(Object.keys(entry.responses), ['200', ...operation.codes.map(String), 'default'])
    for (const code of operation.codes)
      assert.deepEqual(entry.responses[code].content['application/json'].schema, {
        $ref: '#/components/schemas/ErrorBody',
      })
    assert.equal(entry.deprecated, name === 'loginV2' ? true : undefined)
    assert.equal(entry.requestBody === undefined, operation.body === undefined)
    assert.ok(page.includes(`id="${name}"`), `${name} has no section`)
    assert.ok(page.includes(operation.path.replaceAll('{', '{')))
  }
})

for (const [version, document] of Object.entries({ '3.1': openApiDocument, '3.0.3': openApiDocument30 }))
  test(`the ${version} document passes Redocly’s lint without an error`, async (t) => {
    const folder = await tempFolder(t)
    const file = join(folder, 'openapi.json')
    await writeFile(file, JSON.stringify(document()))
    const root = new URL('../../', import.meta.url).pathname
    const env = {
      PATH: process.env.PATH,
      HOME: folder,
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
      CI: '1',
    }
    const args = [
      join(root, 'node_modules/@redocly/cli/bin/cli.js'),
      'lint',
      '--config',
      join(root, 'tools/redocly.yaml'),
      file,
    ]
    const run = await promisify(execFile)(process.execPath, args, { env, cwd: folder }).catch(
      (thrown: { stdout?: string; stderr?: string }) => assert.fail(`${thrown.stdout}${thrown.stderr}`),
    )
    assert.match(`${run.stdout}${run.stderr}`, /valid/)
  })

test('a node serves the document and the page, and the page needs nothing from elsewhere', async (t) => {
  const node = await startTestNode(t)
  const document = await request(`${node.url}/connect-back/openapi.json`)
  assert.deepEqual(document.body, JSON.parse(JSON.stringify(openApiDocument())))
  const older = await request(`${node.url}/connect-back/openapi-3.0.json`)
  assert.deepEqual(older.body, JSON.parse(JSON.stringify(openApiDocument30())))
  const page = await request(`${node.url}/connect-back/docs`)
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.ok(!/(?:src|href)="(?:https?:)?\/\//.test(page.text), 'the page refers to another host')
  assert.equal((await request(`${node.url}/healthz`)).status, 200)
  assert.equal((await request(`${node.url}/readyz`)).status, 200)
})

test('a document is not sent again to somebody who has it', async (t) => {
  const node = await startTestNode(t)
  for (const name of ['openapi.json', 'openapi-3.0.json', 'docs']) {
    const url = `${node.url}/connect-back/${name}`
    const first = await request(url)
    const tag = first.headers.get('etag') ?? ''
    assert.match(tag, /^"[\w-]+"$/)
    assert.equal(first.headers.get('cache-control'), 'no-cache')
    const known = await request(url, { headers: { 'if-none-match': `"other", W/${tag}` } })
    assert.deepEqual([known.status, known.text, known.headers.get('etag')], [304, '', tag])
    const other = await request(url, { headers: { 'if-none-match': '"other"' } })
    assert.deepEqual([other.status, other.text], [200, first.text])
    const head = await request(url, { method: 'HEAD' })
    assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(first.text)))
  }
})

test('a document that many ask for at once is made once', async (t) => {
  const app = fastify()
  t.after(() => app.close())
  let made = 0
  addDocument(app, 'some.txt', { 'Content-Type': 'text/plain' }, async () => `made ${++made} times`)
  const ask = async () => (await app.inject(`${BASE_PATH}/some.txt`)).body
  assert.deepEqual(await Promise.all([ask(), ask(), ask()]), Array(3).fill('made 1 times'))
  assert.equal(await ask(), 'made 1 times')
})

// Names and allowed values of the interface, said once more by hand, misspellings included.
const SPELLED: Record<string, Record<string, string[] | null>> = {
  ChannelResponse: fields(
    'name application direction:EMISION|RECEPCION|BIDIRECCIONAL localEntity remoteEntity version svcff emissionff receptionff keyExchangeChannel allowSendDuplicateFiles validationHashFiles deactivateChannel category connection directories integrations security emission reception users',
  ),
  Connection: fields('ips proxyIps advancedConfigurationTransmission advancedConfigurationConnection'),
  AdvancedConfigurationTransmission: fields(
    'registersBlock crc stampLength:0|8|14|17 timeoutSync timeoutAck characters:EBCDIC|ASCII compression:NO|SI|LZW|VARIABLE downloadConf',
  ),
  AdvancedConfigurationConnection: fields(
    'callingEnd:INDISTINTO|LOCAL|REMOTO desconnection timeout retries rotations validateIp initialHour finishHour',
  ),
  ChannelDirectoryResponse: fields(
    'direction:EMISION|RECEPCION|BIDIRECCIONAL filePath alphabet:NINGUNO|EBCDIC|ASCII compression delimitator:NINGUNO|DOS|UNIX fileFormat:BINARIO|HIBRIDO|VARIABLE|FIJO registerLength traduction:NINGUNO|EBCDIC|ASCII translateStatus fileGroupsName',
  ),
  ChannelIntegrationResponse: fields(
    'exceptionFile preEmisionFile preReceptionFile postReceptionFile postReceptionAction:RECEPTION_NO|RECEPTION_MOVE|RECEPTION_EXECUTE postReceptionDirectory postReceptionRename postEmisionFile postEmisionDirectory postEmisionRename postEmisionAction:EMISION_DELETE|EMISION_MOVE|EMISION_EXECUTE|EMISION_NO',
  ),
  ChannelSecurityResponse: fields(
    'cryptography version ciphrate:NO|TRANSMISION|FILE|ALL localKey remoteKey confidentiality:AES-256-GCM|AES-256-CBC authentication:PASSWORD|CERTIFICATE rsaLocalKey rsaRemoteKey rsaLocalKeyName rsaRemoteKeyName',
  ),
  ChannelPlanningResponse: fields('active direction:EMISION|RECEPCION|BIDIRECCIONAL'),
  ChannelPath: fields('path verifyExists'),
  ChannelStatusResponse: fields(
    'channel-id channel-code channel-direction:EMISION|RECEPCION|BIDIRECCIONAL channel-status:INACTIVE|IN_PROGRESS|PENDING|ERROR|CLOSED|IDLE',
  ),
  ChannelHistoryResponse: fields(
    'channel-id channel-code datetime event:CHANNEL_CREATED|CHANNEL_UPDATED|IPS_UPDATED|DIRECTORIES_UPDATED|OUTBOUND_PATH_UPDATED|INBOUND_PATH_UPDATED|CHANNEL_RESET|TRANSFER_REQUESTED|TRANSFER_RETRIED|TRANSFER_STARTED|TRANSFER_COMPLETED|TRANSFER_FAILED|TRANSFER_CANCELLED|CONNECTION_REFUSED|KEY_RECEIVED',
  ),
  Transfer: fields(
    'channelCode transferId transferStartDateTime transferEndDateTime direction:EMISION|RECEPCION status:PENDING|IN_PROGRESS|COMPLETED|FAILED|CANCELLED error type:MANUAL|RETRY|AUTOMATIC|REMOTE encryption files',
  ),
  TransferFile: fields('fileName path hash size actionPost filePathPost'),
  Contact: fields('id name version os channels remoteCodes remoteIPs contactInfo'),
  ContactPerson: fields('id name lastName secondLastName email phone mobile address ocupation'),
  LoginV1: fields('email password'),
  LoginV2: fields('username password'),
  LoginResponseV1: fields('token refresh_token expiration_token user'),
  ErrorBody: fields('timestamp status error message path'),
}

function fields(text: string): Record<string, string[] | null> {
  const entries = text.split(' ').map((one) => one.split(':'))
  return Object.fromEntries(entries.map(([name = '', values]) => [name, values?.split('|') ?? null]))
}

for (const [shape, expected] of Object.entries(SPELLED))
  test(`${shape} has the fields and values of the interface`, () => {
    const document: Json = openApiDocument()
    const schema = document.components.schemas[shape]
    assert.deepEqual(Object.keys(schema.properties).sort(), Object.keys(expected).sort())
    for (const [name, values] of Object.entries(expected))
      assert.deepEqual(
        schema.properties[name].enum?.map(String).sort(),
        values?.toSorted(),
        `${shape}.${name}`,
      )
  })
