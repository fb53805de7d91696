// Runs against a foreign OFTP2 server that somebody has started: ESCLUSA_INTEROP_OFTP2=host:port. What the server must
// be told, and the other ESCLUSA_INTEROP_OFTP2_* settings, are in docs/oftp2.md. Without a server everything is skipped.
//
// Each test has a session of its own and closes it, however it ends. What the standard leaves open (suites beyond 02,
// older levels, compression) is asked and noted, not required. The end says what the server can and cannot do.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, test } from 'node:test'
import type { TestContext } from 'node:test'
import { never, noise, Progress, push, variableRecords } from '../support/oftp2/ends.ts'
import type { RecordFormat, WireFile } from '../../src/engine/transports/transport.ts'
import { NodeError } from '../../src/errors.ts'
import { OFTP2_SUITES } from '../../src/contract/contact-settings.ts'
import { refusalOf } from '../../src/engine/transports/oftp2/oftp2.ts'
import { LEVELS } from './foreign-node.ts'
import {
  cutLine,
  engine,
  fresh,
  hasPassword,
  keys,
  protect,
  skip,
  trySession,
  withSession,
} from './interop-server.ts'

/** What was found out, in the order of the tests; undefined: it could not be asked. */
const found: { can: string[]; cannot: string[]; notAsked: string[] } = { can: [], cannot: [], notAsked: [] }

after(() => {
  if (skip !== false) return
  for (const [title, list] of [
    ['the server can', found.can],
    ['the server cannot', found.cannot],
    ['not asked', found.notAsked],
  ] as const)
    process.stdout.write(`${title}: ${list.length === 0 ? 'nothing' : list.join('; ')}\n`)
})

/** Runs what a server must be able to do: it is noted either way, and a failure is a failure. */
async function must(what: string, run: () => Promise<void>): Promise<void> {
  try {
    await run()
    found.can.push(what)
  } catch (thrown) {
    found.cannot.push(`${what} (${thrown instanceof Error ? thrown.message.split('\n')[0] : String(thrown)})`)
    throw thrown
  }
}

/** Runs what it may refuse, by the standard's own answers. Anything else is a failure. */
async function may(t: TestContext, what: string, run: () => Promise<string>): Promise<void> {
  try {
    const more = await run()
    found.can.push(more ? `${what} (${more})` : what)
  } catch (thrown) {
    const refused = refusalOf(thrown)
    const means = thrown instanceof Error ? thrown.message.split('\n')[0] : String(thrown)
    found.cannot.push(`${what} (${means ?? ''})`)
    if (refused === undefined) throw thrown
    t.diagnostic(`${what}: ${refused.command} ${refused.reason}`)
  }
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
  test(`a foreign server takes a file: ${title}`, { skip }, () =>
    must(`take ${title}`, () =>
      withSession({}, async (session) => {
        assert.equal((await push(session, fresh(title, content, format))).receipt, 'awaited')
      }),
    ),
  )
}

test('a foreign server takes every file in one session, and refuses none', { skip }, () =>
  must('take several files in one session', () =>
    withSession({}, async (session) => {
      for (const [title, content, format] of FILES) await push(session, fresh(title, content, format))
    }),
  ),
)

test('a foreign server takes compressed data', { skip }, () =>
  must('take buffer compression, or agree to none', () =>
    withSession({ compression: true }, async (session) => {
      await push(session, fresh('packed', noise(100_000), U))
    }),
  ),
)

test('a foreign server goes on with a file whose line was cut', { skip }, async (t) => {
  const line = await cutLine(2_000_000)
  if (line === undefined)
    return t.skip(
      'the certificate is for another address than the line’s: set ESCLUSA_INTEROP_OFTP2_TLS_NAME',
    )
  const file = fresh('cut', noise(3_000_000), U)
  const progress = new Progress()
  try {
    await withSession({ port: line.port }, (broken) => assert.rejects(push(broken, file, progress)))
  } finally {
    await line.close()
  }
  let from = -1
  const source: WireFile['source'] = {
    size: file.source.size,
    read: (into, position) => {
      if (from === -1) from = position
      return file.source.read(into, position)
    },
  }
  const again = { ...file, source, restartFrom: progress.safePosition, mayBeThere: progress.placed }
  await must('take a file again after a cut', () =>
    withSession({}, async (session) => void (await push(session, again))),
  )
  if (from > 0) found.can.push('go on in the middle of a file')
  else found.cannot.push('go on in the middle of a file')
  t.diagnostic(`it went on at ${from} of ${file.source.size} octets`)
})

const noPassword = skip || (hasPassword ? false : 'ESCLUSA_INTEROP_OFTP2_PASSWORD is not set')

test('a foreign server refuses a wrong password', { skip: noPassword }, () =>
  must('refuse a wrong password', () =>
    assert.rejects(
      withSession({ security: { localKey: 'WRONG' } }, async () => undefined),
      { code: 'login_refused' },
    ),
  ),
)

test('a foreign server hands over what it has, and its receipts', { skip }, (t) =>
  must('hand over files and receipts when it gets the turn', async () => {
    await withSession({}, (session) => session.fetch(never))
    const positive = engine.receipts.filter((receipt) => receipt.positive)
    t.diagnostic(
      `${engine.complete.length} files and ${positive.length} positive receipts came in all sessions`,
    )
    assert.equal(positive.length, engine.receipts.length, 'a receipt was negative')
    assert.equal(engine.unsettled, 0)
  }),
)

for (const [name, level] of Object.entries(LEVELS))
  test(`a foreign server speaks level ${name}`, { skip }, async (t) => {
    const said = await trySession(level, `LEVEL${level}`)
    t.diagnostic(`level ${name}: ${said.what}`)
    if (said.ok) found.can.push(`level ${name} (${said.what})`)
    else found.cannot.push(`level ${name} (${said.what})`)
    // A server of RFC 5024 speaks 2.0, unless it takes no session without authentication by certificates.
    if (level === '5' && !keys) assert.ok(said.ok, said.what)
  })

const noKeys =
  skip || (keys ? false : 'ESCLUSA_INTEROP_OFTP2_KEY and ESCLUSA_INTEROP_OFTP2_CERTIFICATE are not set')
if (noKeys && skip === false) found.notAsked.push('signed receipts and protected files: no keys are set')

/** One by one for the suite that every server has, all at once for the others. */
const LAYERS = ['signed', 'encrypted', 'compressed, signed and encrypted'] as const

for (const [suite, { digest }] of Object.entries(OFTP2_SUITES)) {
  test(`a foreign server signs receipts by suite ${suite}`, { skip: noKeys }, (t) =>
    may(t, `signed receipts by suite ${suite}`, async () => {
      const content = noise(10_000, Number(suite))
      const file = { ...fresh('receipt', content, U), signedReceipt: true }
      await withSession({ suite }, async (session) => {
        await push(session, file)
        await session.fetch(never)
      })
      const receipt = engine.receipts.find(({ key }) => key.time === file.key.time)
      if (receipt === undefined) return 'the receipt did not come in the same session'
      assert.equal(receipt.positive, true, receipt.reason)
      if (receipt.hash === undefined) return 'the receipt came unsigned'
      assert.equal(receipt.signed, true, 'its signature does not fit')
      assert.equal(receipt.hash, createHash(digest).update(content).digest('hex'), `the hash is no ${digest}`)
      return ''
    }),
  )
  for (const layers of suite === '02' ? LAYERS : LAYERS.slice(-1))
    test(`a foreign server takes a file that is ${layers} by suite ${suite}`, { skip: noKeys }, (t) =>
      may(t, `files that are ${layers} by suite ${suite}`, async () => {
        const file = await protect(fresh('closed', noise(20_000), U), suite, layers)
        await withSession({ suite }, async (session) => void (await push(session, file)))
        return ''
      }),
    )
}

test('a foreign server takes a file that is compressed as a whole', { skip }, (t) =>
  may(t, 'files that are compressed as a whole (zlib)', async () => {
    const file = await protect(fresh('zlib', noise(20_000), U), '00', 'compressed')
    await withSession({}, async (session) => void (await push(session, file)))
    return ''
  }),
)

test('the refusals of a foreign server are told apart from faults', () => {
  const refused = new NodeError('remote_refused', 'no', { cause: { command: 'SFNA', reason: '15' } })
  assert.equal(refusalOf(refused)?.reason, '15')
  assert.equal(refusalOf(new NodeError('connection_lost', 'gone')), undefined)
})
