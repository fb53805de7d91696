// Runs against a foreign OFTP2 server that somebody has started: ESCLUSA_INTEROP_OFTP2=host:port, and where they are
// not the defaults _LOCAL, _REMOTE (identification codes), _PASSWORD (ours), _EXPECTED (theirs), _TLS_CA (PEM file).
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import type { RecordFormat } from '../transport.ts'
import { createOftp2 } from './oftp2.ts'
import {
  never,
  noise,
  nothingOpen,
  OPEN,
  push,
  TIMEOUTS,
  trialCrypto,
  variableRecords,
  wireFile,
} from './trial-ends.ts'
import { TrialHost } from './trial-host.ts'

const setting = (name: string) => process.env[`ESCLUSA_INTEROP_OFTP2${name}`]
const address = setting('')
const skip =
  address === undefined ? 'set ESCLUSA_INTEROP_OFTP2=host:port to run against a foreign server' : false

async function callForeign(host: TrialHost, compression: boolean) {
  const [name = '', port = ''] = (address ?? '').split(/:(?=\d+$)/)
  const ca = setting('_TLS_CA')
  return createOftp2({ crypto: trialCrypto }).connect(
    {
      contactId: 'foreign',
      host: name,
      port: Number(port),
      localId: setting('_LOCAL') ?? 'O0013000001ESCLUSA',
      remoteId: setting('_REMOTE') ?? 'O0013000002FOREIGN',
      settings: ca === undefined ? {} : { tls: { ca: readFileSync(ca, 'utf8') } },
      applications: [],
      ways: 'B',
      timeouts: TIMEOUTS,
      security: {
        ...OPEN,
        encrypted: ca !== undefined,
        authentication: 'PASSWORD',
        localKey: setting('_PASSWORD'),
        remoteKey: setting('_EXPECTED'),
      },
      compression,
      signal: never,
    },
    host,
  )
}

const FILES: [string, Buffer, RecordFormat][] = [
  ['U', noise(300_000), { kind: 'U', recordLength: 0 }],
  ['empty', Buffer.alloc(0), { kind: 'U', recordLength: 0 }],
  ['T', Buffer.from('one line\r\nanother\r\n'), { kind: 'T', recordLength: 0 }],
  ['F', noise(80 * 500), { kind: 'F', recordLength: 80 }],
  ['V', variableRecords(100, 200), { kind: 'V', recordLength: 200 }],
]

for (const [title, content, format] of FILES) {
  test(`a foreign server takes a file of format ${title}`, { skip }, async () => {
    const session = await callForeign(new TrialHost(), false)
    assert.equal((await push(session, wireFile(content, format))).receipt, 'awaited')
    await session.close()
    await nothingOpen()
  })
}

test(
  'a foreign server takes compressed data, hands over what it has, and its receipts',
  { skip },
  async (context) => {
    const host = new TrialHost()
    const session = await callForeign(host, true)
    await push(session, wireFile(noise(100_000), { kind: 'U', recordLength: 0 }))
    await session.fetch(never)
    await session.close()
    context.diagnostic(`${host.complete.length} files and ${host.receipts.length} receipts came back`)
    await nothingOpen()
  },
)
