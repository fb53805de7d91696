// Transfers of a real node, traced to a collector that speaks OTLP over HTTP.

import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { stringify } from 'yaml'
import { BASE_PATH } from '../../src/contract/operations.ts'
import type { Span } from '../../src/notify/traces/spans.ts'
import { esclusa, NodeProcess } from '../crash/node-process.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const PATIENCE_MS = 120_000

type Request = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }

async function startCollector(t: TestContext): Promise<{ url: string; spans: Span[]; paths: Set<string> }> {
  const spans: Span[] = []
  const paths = new Set<string>()
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => (body += part))
    request.on('end', () => {
      paths.add(`${request.method} ${request.url} ${request.headers['content-type']}`)
      for (const { scopeSpans } of (JSON.parse(body) as Request).resourceSpans)
        for (const scope of scopeSpans) spans.push(...scope.spans)
      response.end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closeAfter(t, async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, paths }
}

async function startTraced(t: TestContext, collector: string) {
  const folder = await tempFolder(t)
  const files = join(folder, 'files')
  const settings = {
    ESCLUSA_DATA_DIR: join(folder, 'data'),
    ESCLUSA_FILE_ROOTS: files,
    ESCLUSA_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector,
  }
  for (const name of ['out', 'inbox', 'outbox']) await mkdir(join(files, name), { recursive: true })
  const channel = (code: string, out: string) => ({
    code,
    contact: 'acme',
    direction: 'EMISION',
    directories: [{ direction: 'EMISION', filePath: join(files, out) }],
    connection: { advancedConfigurationConnection: { retries: 0 } },
    allowSendDuplicateFiles: true,
  })
  await writeFile(
    join(folder, 'platform.yaml'),
    stringify({
      localEntities: [{ code: 'BANCO', name: 'Banco' }],
      users: [{ username: 'ana', email: 'ana@banco.example', role: 'ROLE_ADMIN' }],
      contacts: [
        {
          id: 'acme',
          remoteCodes: [{ code: 'ACME' }],
          protocol: 'folder',
          folder: { inbox: join(files, 'inbox'), outbox: join(files, 'outbox') },
        },
      ],
      channels: [channel('BANCO-ACME-NOMINA', 'out')],
    }),
  )
  await writeFile(join(files, 'out', 'a.txt'), 'first')
  await writeFile(join(files, 'out', 'b.txt'), 'second file')
  await esclusa(settings, 'apply', join(folder, 'platform.yaml'))
  const token = (await esclusa(settings, 'token', 'create', '--user', 'ana')).trim()
  const node = await NodeProcess.start(settings)
  closeAfter(t, () => node.kill())
  const send = async (headers: Record<string, string> = {}) => {
    const path = `${BASE_PATH}/integration/v2/channels/BANCO-ACME-NOMINA/transfers/send`
    const answer = await fetch(node.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...headers },
    })
    const body = (await answer.json()) as { transferId: string }
    assert.equal(answer.status, 200, JSON.stringify(body))
    return body.transferId
  }
  return { send, files }
}

function valueOf(span: Span | undefined, key: string): string | undefined {
  const value = span?.attributes.find((one) => one.key === key)?.value
  return value && ('stringValue' in value ? value.stringValue : value.intValue)
}

test('a transfer is a span in its caller’s trace, with a span for each of its files', async (t) => {
  const collector = await startCollector(t)
  const { send } = await startTraced(t, collector.url)
  const id = await send({ traceparent: `00-${TRACE}-${CALLER}-01` })
  const of = (transfer: string) =>
    collector.spans.filter((span) => valueOf(span, 'esclusa.transfer') === transfer)
  await waitFor('the spans', () => of(id).length >= 3, PATIENCE_MS)
  const [whole, ...parts] = of(id)
  assert.deepEqual([...collector.paths], ['POST /v1/traces application/json'])
  assert.deepEqual([whole?.traceId, whole?.parentSpanId, whole?.status.code], [TRACE, CALLER, 1])
  assert.equal(valueOf(whole, 'esclusa.channel'), 'BANCO-ACME-NOMINA')
  assert.equal(valueOf(whole, 'esclusa.partner'), 'acme')
  assert.equal(valueOf(whole, 'esclusa.outcome'), 'COMPLETED')
  assert.deepEqual(parts.map((span) => String(valueOf(span, 'esclusa.file.name'))).toSorted(), [
    'a.txt',
    'b.txt',
  ])
  for (const span of parts) {
    assert.deepEqual([span.traceId, span.parentSpanId, span.status.code], [TRACE, whole?.spanId, 1])
    const [from, to] = [BigInt(span.startTimeUnixNano), BigInt(span.endTimeUnixNano)]
    assert.ok(BigInt(whole?.startTimeUnixNano ?? 0) <= from && from <= to)
    assert.ok(to <= BigInt(whole?.endTimeUnixNano ?? 0))
  }
})
