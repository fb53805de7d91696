// Runs against a foreign OFTP2 server that somebody has started: ESCLUSA_INTEROP_OFTP2=host:port. What the server must
// be told, and the other ESCLUSA_INTEROP_OFTP2_* settings, are in docs/oftp2.md. Without a server everything is skipped.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { sessionCrypto } from '../../src/engine/sessions/session-crypto.ts'
import { createOftp2 } from '../../src/engine/transports/oftp2/oftp2.ts'
import {
  BreakingLine,
  never,
  noise,
  nothingOpen,
  OPEN,
  Progress,
  push,
  TIMEOUTS,
  variableRecords,
  wireFile,
} from '../support/oftp2/ends.ts'
import { TrialHost } from '../support/oftp2/host.ts'
import type { Oftp2Settings } from '../../src/contract/contact-settings.ts'
import type {
  Admission,
  RecordFormat,
  Session,
  SessionSecurity,
  WireFile,
} from '../../src/engine/transports/transport.ts'
import { reachAll } from '../support/reach.ts'

const setting = (name: string) => process.env[`ESCLUSA_INTEROP_OFTP2${name}`]
const pem = (name: string) => {
  const path = setting(name)
  return path === undefined ? undefined : readFileSync(path, 'utf8')
}

const address = setting('')
const skip =
  address === undefined ? 'set ESCLUSA_INTEROP_OFTP2=host:port to run against a foreign server' : false
const [host = '', port = ''] = (address ?? '').split(/:(?=\d+$)/)
const tls = setting('_TLS') !== undefined
const ca = pem('_TLS_CA')
const servername = setting('_TLS_NAME')

function security(): SessionSecurity {
  const [rsaLocalKey, rsaRemoteKey] = [pem('_KEY'), pem('_CERTIFICATE')]
  return {
    ...OPEN,
    encrypted: tls,
    authentication: rsaLocalKey === undefined ? 'PASSWORD' : 'CERTIFICATE',
    localKey: setting('_PASSWORD'),
    remoteKey: setting('_EXPECTED'),
    rsaLocalKey,
    rsaRemoteKey,
  }
}

const PARTY: Admission<Oftp2Settings> = {
  contactId: 'foreign',
  localId: setting('_LOCAL') ?? 'O0013000001ESCLUSA',
  remoteId: setting('_REMOTE') ?? 'O0013000002FOREIGN',
  settings: { tls: { ...(ca && { ca }), ...(servername && { servername }) } },
  reach: reachAll('foreign'),
  ways: 'B',
  timeouts: TIMEOUTS,
  security: security(),
  compression: false,
}

/** What comes in by any of the sessions: the server may hand it over in whichever it likes. */
const engine = new TrialHost()
engine.acknowledges = true
engine.partners.set(PARTY.remoteId, PARTY)

type Change = { compression?: boolean; security?: Partial<SessionSecurity>; port?: number }

function callForeign(change: Change = {}): Promise<Session> {
  return createOftp2({ crypto: sessionCrypto }).connect(
    {
      ...PARTY,
      applications: [],
      host: change.port === undefined ? host : '127.0.0.1',
      port: change.port ?? Number(port),
      security: { ...PARTY.security, ...change.security },
      compression: change.compression ?? false,
      signal: never,
    },
    engine,
  )
}

let counter = 0

/** A file that the server has not seen before, in this run or another. */
function fresh(title: string, content: Buffer, format: RecordFormat): WireFile {
  const now = new Date().toISOString().replaceAll(/\D/g, '')
  const name = `interop-${title}.dat`
  counter += 1
  const time = now.slice(8, 14) + String(counter).padStart(4, '0')
  const key = { name, date: now.slice(0, 8), time }
  return wireFile(content, format, { name, key, application: setting('_APPLICATION') ?? '' })
}

const U: RecordFormat = { kind: 'U', recordLength: 0 }
const FILES: [string, Buffer, RecordFormat][] = [
  ['u', noise(300_000), U],
  ['empty', Buffer.alloc(0), U],
  ['t', Buffer.from('one line\r\nanother\r\n'), { kind: 'T', recordLength: 0 }],
  ['f', noise(80 * 500), { kind: 'F', recordLength: 80 }],
  ['v', variableRecords(100, 200), { kind: 'V', recordLength: 200 }],
]

for (const [title, content, format] of FILES) {
  test(`a foreign server takes a file: ${title}`, { skip }, async () => {
    const session = await callForeign()
    assert.equal((await push(session, fresh(title, content, format))).receipt, 'awaited')
    await session.close()
    await nothingOpen()
  })
}

test('a foreign server takes every file in one session, and refuses none', { skip }, async () => {
  const session = await callForeign()
  for (const [title, content, format] of FILES) await push(session, fresh(title, content, format))
  await session.close()
  await nothingOpen()
})

test('a foreign server takes compressed data', { skip }, async () => {
  const session = await callForeign({ compression: true })
  await push(session, fresh('packed', noise(100_000), U))
  await session.close()
  await nothingOpen()
})

test('a foreign server goes on with a file whose line was cut', { skip }, async (t) => {
  if (tls && ca !== undefined && servername === undefined)
    return t.skip(
      'the certificate is for another address than the line’s: set ESCLUSA_INTEROP_OFTP2_TLS_NAME',
    )
  const file = fresh('cut', noise(3_000_000), U)
  const line = new BreakingLine(Number(port), { from: 'caller', after: 2_000_000 }, host)
  const progress = new Progress()
  const broken = await callForeign({ port: await line.open() })
  await assert.rejects(push(broken, file, progress))
  await broken.close()
  await line.close()
  let from = -1
  const source: WireFile['source'] = {
    size: file.source.size,
    read: (into, position) => {
      if (from === -1) from = position
      return file.source.read(into, position)
    },
  }
  const session = await callForeign()
  await push(session, { ...file, source, restartFrom: progress.safePosition, mayBeThere: progress.placed })
  await session.close()
  t.diagnostic(`it went on at ${from} of ${file.source.size} octets`)
  await nothingOpen()
})

const noPassword =
  skip || (setting('_PASSWORD') === undefined ? 'ESCLUSA_INTEROP_OFTP2_PASSWORD is not set' : false)

test('a foreign server refuses a wrong password', { skip: noPassword }, async () => {
  await assert.rejects(callForeign({ security: { localKey: 'WRONG' } }), {
    code: 'login_refused',
  })
  await nothingOpen()
})

test('a foreign server hands over what it has, and its receipts', { skip }, async (t) => {
  const session = await callForeign()
  await session.fetch(never)
  // Receipts for what it handed over go with the end of the session.
  await session.close()
  const positive = engine.receipts.filter((receipt) => receipt.positive)
  t.diagnostic(
    `${engine.complete.length} files and ${positive.length} positive receipts came in all sessions`,
  )
  assert.equal(positive.length, engine.receipts.length, 'a receipt was negative')
  assert.equal(engine.unsettled, 0)
  await nothingOpen()
})
