// The proof that a receipt gives, against a partner that keeps to RFC 5024: 5.3.3 (SFIDCIPH, SFIDSIGN), 5.3.13 and
// 5.3.14 (hash and signature), 10.2 (suites). The partner's signatures are made and checked by openssl, not by our code.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { makeTestKey, noOpenssl, OpensslFolder } from '../support/cms-keys.ts'
import type { TestKey } from '../support/cms-keys.ts'
import { waitFor } from '../support/harness.ts'
import { dataOf, n, octets, text, u2, x } from '../support/oftp2/foreign.ts'
import type { ForeignLine } from '../support/oftp2/foreign.ts'
import { awaiting, CREDIT, NODE_ID, startForeignNode } from './foreign-node.ts'
import type { Foreign, ForeignNode } from './foreign-node.ts'

const CONTENT = 'what the file holds'
const DIGEST_OF_SUITE = { '02': 'sha1', '04': 'sha256', '06': 'sha512' } as const
type Keys = { ours: TestKey; theirs: TestKey }
type Bench = { node: ForeignNode; keys: Keys }

const keysOf = ({ ours, theirs }: Keys) => ({
  rsaLocalKey: `${ours.privateKeyPem.trim()}\n${ours.certificatePem}`,
  rsaRemoteKey: theirs.certificatePem,
})

/** CMS SignedData with the content inside, by openssl. */
function signed(key: TestKey, content: Buffer, digest: string): Buffer {
  const folder = new OpensslFolder(key)
  try {
    folder.write('content', content)
    const signer = '-signer cert.pem -inkey key.pem -nocerts -nosmimecap'
    folder.cms(`-sign -nodetach -in content -out signature -outform DER ${signer} -md ${digest}`)
    return folder.read('signature')
  } finally {
    folder.remove()
  }
}

/** What openssl finds inside a signature that it has checked with that certificate. */
function opened(key: TestKey, signature: Buffer): Buffer {
  const folder = new OpensslFolder(key)
  try {
    folder.write('signature', signature)
    folder.cms('-verify -in signature -inform DER -certfile cert.pem -nointern -noverify -out content')
    return folder.read('content')
  } finally {
    folder.remove()
  }
}

type Sent = { dataset: string; stamp: string; suite: string; sign: string }

/** The partner takes the file; then it has the turn. */
async function takeFile(line: ForeignLine): Promise<Sent> {
  const sfid = text(await line.expect('H'))
  line.say(`2${n(0, 17)}`)
  const { content } = await line.expectFile(CREDIT)
  assert.equal(content.toString(), CONTENT)
  line.say('4N')
  await line.expect('R')
  return {
    dataset: sfid.slice(1, 27),
    stamp: sfid.slice(30, 48),
    suite: sfid.slice(157, 159),
    sign: sfid.slice(161, 162),
  }
}

const eerp = ({ dataset, stamp }: Sent, { id }: Foreign, hash: Uint8Array, signature: Uint8Array) =>
  octets(
    `E${dataset}${x('', 3)}${stamp}${x('', 8)}${x(NODE_ID, 25)}${x(id, 25)}`,
    u2(hash.length),
    hash,
    u2(signature.length),
    signature,
  )

/** EERPDSN, EERPDATE, EERPTIME, EERPDEST, EERPORIG, EERPHSH, each with its padding (5.3.13). */
const covered = ({ dataset, stamp }: Sent, { id }: Foreign, hash: Uint8Array) =>
  octets(`${dataset}${stamp}${x(NODE_ID, 25)}${x(id, 25)}`, hash)

type Answer = (sent: Sent, foreign: Foreign) => Buffer

async function answered(
  t: TestContext,
  { node, keys }: Bench,
  suite: keyof typeof DIGEST_OF_SUITE,
  answer: Answer,
): Promise<{ state: string; error: string | null }> {
  const foreign = await node.relate(t, { validationHashFiles: true, security: keysOf(keys) }, { suite })
  const id = await foreign.send('a.bin', CONTENT)
  const { line } = await foreign.called('5')
  const sent = await takeFile(line)
  assert.deepEqual([sent.suite, sent.sign], [suite, 'Y'], 'SFIDCIPH and SFIDSIGN')
  line.say(answer(sent, foreign))
  await line.expect('P')
  line.say('R')
  return foreign.ended(id)
}

const hashOf = (digest: string) => createHash(digest).update(CONTENT).digest()

async function hashOfSuite(t: TestContext, bench: Bench): Promise<void> {
  for (const [suite, digest] of Object.entries(DIGEST_OF_SUITE)) {
    const { state, error } = await answered(t, bench, suite as '02', (sent, foreign) => {
      const hash = hashOf(digest)
      return eerp(sent, foreign, hash, signed(bench.keys.theirs, covered(sent, foreign, hash), digest))
    })
    assert.equal(state, 'COMPLETED', `${suite}: ${error ?? ''}`)
  }
}

async function wrongHash(t: TestContext, bench: Bench): Promise<void> {
  const hash = createHash('sha1').update('something else').digest()
  const { state, error } = await answered(t, bench, '02', (sent, foreign) =>
    eerp(sent, foreign, hash, signed(bench.keys.theirs, covered(sent, foreign, hash), 'sha1')),
  )
  assert.equal(state, 'FAILED')
  assert.equal(
    error,
    `a.bin: the partner’s receipt is negative: it shows the hash ${hash.toString('hex')}, sent was ${hashOf('sha1').toString('hex')}`,
  )
}

async function unsigned(t: TestContext, bench: Bench): Promise<void> {
  const { state, error } = await answered(t, bench, '04', (sent, foreign) =>
    eerp(sent, foreign, new Uint8Array(0), new Uint8Array(0)),
  )
  assert.equal(state, 'FAILED')
  assert.match(error ?? '', /it is not signed, though a signed one was asked for$/)
}

/** `downloadConf` by itself asks for a receipt and for no proof; what is shown all the same must not be wrong. */
async function wrongProof(t: TestContext, { node, keys }: Bench): Promise<void> {
  const none = new Uint8Array(0)
  const hash = hashOf('sha256')
  const other = createHash('sha256').update('something else').digest()
  const stranger = await makeTestKey('foreign')
  const answers: readonly [Answer, string, RegExp][] = [
    [(sent, foreign) => eerp(sent, foreign, none, none), 'COMPLETED', /^$/],
    [(sent, foreign) => eerp(sent, foreign, other, none), 'FAILED', /it shows the hash/],
    [(sent, foreign) => eerp(sent, foreign, hash.subarray(0, 20), none), 'FAILED', /it shows the hash/],
    [(sent, foreign) => eerp(sent, foreign, hash, octets('junk!')), 'FAILED', /signature/],
    [
      (sent, foreign) => eerp(sent, foreign, hash, signed(stranger, covered(sent, foreign, hash), 'sha256')),
      'FAILED',
      /no signature was made with the key we hold/,
    ],
  ]
  for (const [answer, expected, why] of answers) {
    const foreign = await node.relate(t, { ...awaiting(), security: keysOf(keys) })
    const id = await foreign.send('a.bin', CONTENT)
    const { line } = await foreign.called('5')
    const sent = await takeFile(line)
    line.say(answer(sent, foreign))
    await line.expect('P')
    line.say('R')
    const { state, error } = await foreign.ended(id)
    assert.equal(state, expected, error ?? '')
    assert.match(error ?? '', why)
  }
}

/** A file is known by its name, its stamp and both its ends (5.3.13): with other ends it is another one's. */
async function otherEnds(t: TestContext, { node }: Bench): Promise<void> {
  const foreign = await node.relate(t, awaiting())
  const id = await foreign.send('a.bin', CONTENT)
  const { line } = await foreign.called('5')
  const sent = await takeFile(line)
  const none = new Uint8Array(0)
  for (const [made, has] of [
    [NODE_ID, 'SOMEBODY'],
    ['SOMEBODY', foreign.id],
    [foreign.id, NODE_ID],
  ] as const) {
    const ends = `${x(made, 25)}${x(has, 25)}`
    line.say(octets(`E${sent.dataset}${x('', 3)}${sent.stamp}${x('', 8)}${ends}`, u2(0), u2(0)))
    await line.expect('P')
    assert.equal((await foreign.file(id)).receipt, 'AWAITED', `${made} to ${has}`)
  }
  line.say(eerp(sent, foreign, none, none))
  await line.expect('P')
  line.say('R')
  assert.equal((await foreign.ended(id)).state, 'COMPLETED')
}

/** The partner's key is exchanged while a transfer waits: it signs with the new one, or has signed with the old one. */
async function keyExchanged(t: TestContext, { node, keys }: Bench): Promise<void> {
  const fresh = await makeTestKey('foreign')
  const stranger = await makeTestKey('foreign')
  for (const [key, expected] of [
    [fresh, 'COMPLETED'],
    [keys.theirs, 'COMPLETED'],
    [stranger, 'FAILED'],
  ] as const) {
    const foreign = await node.relate(t, { validationHashFiles: true, security: keysOf(keys) })
    const id = await foreign.send('a.bin', CONTENT)
    const sent = await takeFile((await foreign.called('5')).line)
    const { code } = foreign
    const body = { security: { rsaRemoteKey: fresh.certificatePem } }
    assert.equal((await node.call('updateChannel', { code, as: 'admin', body })).status, 200)
    const { line } = await foreign.calls(t, '5')
    const hash = hashOf('sha256')
    line.say(eerp(sent, foreign, hash, signed(key, covered(sent, foreign, hash), 'sha256')))
    await line.expect('P')
    const { state, error } = await foreign.ended(id)
    assert.equal(state, expected, error ?? '')
    if (key === stranger) assert.match(error ?? '', /: no signature was made with the key we hold$/)
  }
}

async function withoutKeys(t: TestContext, { node }: Bench): Promise<void> {
  const foreign = await node.relate(t, { validationHashFiles: true })
  const id = await foreign.send('a.bin', CONTENT)
  const { line } = await foreign.called('5')
  const sent = await takeFile(line)
  assert.deepEqual([sent.suite, sent.sign], ['00', 'N'], 'nothing is asked for that cannot be checked')
  line.say(eerp(sent, foreign, new Uint8Array(0), new Uint8Array(0)))
  await line.expect('P')
  line.say('R')
  const { state, error } = await foreign.ended(id)
  assert.equal(state, 'COMPLETED', error ?? '')
}

/** A level without signed receipts cannot prove anything: nothing is sent. */
async function olderLevel(t: TestContext, { node, keys }: Bench): Promise<void> {
  const foreign = await node.relate(t, { validationHashFiles: true, security: keysOf(keys) })
  const id = await foreign.send('a.bin', CONTENT)
  const { line } = await foreign.called('4')
  await line.expect('R')
  line.say('F00\r')
  const { state, error_code, error } = await foreign.ended(id)
  assert.deepEqual([state, error_code], ['FAILED', 'insecure_session'])
  assert.match(error ?? '', /validationHashFiles and crc ask for a signed receipt/)
}

/** The partner brings a plain file and asks for a receipt, signed or not. */
async function bring(t: TestContext, foreign: Foreign, suite: string, sign: 'Y' | 'N'): Promise<Buffer> {
  const { line } = await foreign.calls(t, '5')
  line.say(
    `H${x('FROM-THERE', 26)}   202611161213140007${x('FILES', 8)}${x(NODE_ID, 25)}${x(foreign.id, 25)}U00000`,
    `${n(1, 13)}${n(1, 13)}${n(0, 17)}00${suite}00${sign}000`,
  )
  await line.expect('2')
  line.say(dataOf(Buffer.from(CONTENT)))
  line.say(`T${n(0, 17)}${n(CONTENT.length, 17)}`)
  await line.expect('4')
  line.say('R')
  const receipt = await line.expect('E')
  line.say('P')
  await line.expect('R')
  line.say('F00000\r')
  return receipt
}

const HEAD = 106

async function ourHash(t: TestContext, { node, keys }: Bench): Promise<void> {
  const digests = { '01': 'sha1', '02': 'sha1', '03': 'sha256', '04': 'sha256', '06': 'sha512' }
  for (const [suite, digest] of Object.entries(digests)) {
    const foreign = await node.relate(t, { security: keysOf(keys) })
    const receipt = await bring(t, foreign, suite, 'Y')
    const hash = hashOf(digest)
    const head = `E${x('FROM-THERE', 26)}   202611161213140007${x('', 8)}${x(foreign.id, 25)}${x(NODE_ID, 25)}`
    const proof = octets(head, u2(hash.length), hash)
    assert.equal(text(receipt.subarray(0, proof.length)), text(proof), suite)
    const at = proof.length + 2
    assert.equal(receipt.readUInt16BE(proof.length), receipt.length - at, 'EERPSIGL')
    const content = octets(
      `${x('FROM-THERE', 26)}202611161213140007${x(foreign.id, 25)}${x(NODE_ID, 25)}`,
      hash,
    )
    assert.deepEqual(opened(keys.ours, receipt.subarray(at)), content, suite)
  }
}

async function oursUnsigned(t: TestContext, { node, keys }: Bench): Promise<void> {
  for (const suite of ['00', '04']) {
    const foreign = await node.relate(t, { security: keysOf(keys) })
    const receipt = await bring(t, foreign, suite, 'N')
    assert.deepEqual(receipt.subarray(HEAD), octets(u2(0), u2(0)), 'no hash and no signature')
  }
}

/** Lines here, V records on the wire. */
const variable = (foreign: Foreign) => ({
  directories: (['EMISION', 'RECEPCION'] as const).map((direction) => ({
    direction,
    filePath: foreign.folder(direction === 'EMISION' ? 'out' : 'in'),
    fileFormat: 'VARIABLE' as const,
    registerLength: 100,
    delimitator: 'UNIX' as const,
  })),
})
const RECORDS = ['abc', '', 'hello']
/** The Virtual File that is transmitted: its records end with the sub-records and have no lengths in them (7.2, 6.1). */
const inRecords = (digest: string) => createHash(digest).update(RECORDS.join('')).digest()

async function recordsSent(t: TestContext, { node, keys }: Bench): Promise<void> {
  const lines = RECORDS.map((record) => `${record}\n`).join('')
  // The last one is so long that it is hashed in a thread.
  for (const [suite, times] of [
    ['02', 1],
    ['04', 1],
    ['06', 1],
    ['04', 150_000],
  ] as const) {
    const digest = DIGEST_OF_SUITE[suite]
    const foreign = await node.relate(
      t,
      (made) => ({ validationHashFiles: true, security: keysOf(keys), ...variable(made) }),
      { suite },
    )
    const id = await foreign.send('a.txt', lines.repeat(times))
    const { line } = await foreign.called('5')
    const sfid = text(await line.expect('H'))
    assert.equal(sfid.slice(106, 112), 'V00100', 'SFIDFMT, SFIDLRECL')
    line.say(`2${n(0, 17)}`)
    const { content, records } = await line.expectFile(CREDIT)
    assert.equal(records, RECORDS.length * times)
    line.say('4N')
    await line.expect('R')
    const sent = { dataset: sfid.slice(1, 27), stamp: sfid.slice(30, 48), suite, sign: 'Y' }
    const hash = createHash(digest).update(content).digest()
    line.say(eerp(sent, foreign, hash, signed(keys.theirs, covered(sent, foreign, hash), digest)))
    await line.expect('P')
    line.say('R')
    const { state, error } = await foreign.ended(id)
    assert.equal(state, 'COMPLETED', error ?? '')
    const local = createHash('sha256').update(lines.repeat(times)).digest('hex')
    const file = await foreign.file(id)
    assert.deepEqual([file.hash, file.wire_hash], [local, hash.toString('hex')])
  }
}

async function recordsReceived(t: TestContext, { node, keys }: Bench): Promise<void> {
  for (const [suite, digest] of Object.entries(DIGEST_OF_SUITE)) {
    const foreign = await node.relate(t, (made) => ({ security: keysOf(keys), ...variable(made) }))
    const { line } = await foreign.calls(t, '5')
    line.say(
      `H${x('FROM-THERE', 26)}   202611161213140007${x('FILES', 8)}${x(NODE_ID, 25)}${x(foreign.id, 25)}V00100`,
      `${n(1, 13)}${n(1, 13)}${n(0, 17)}00${suite}00Y000`,
    )
    await line.expect('2')
    const subrecords = RECORDS.flatMap((record) => [Uint8Array.of(0x80 | record.length), record])
    line.say('D', ...subrecords)
    line.say(`T${n(RECORDS.length, 17)}${n(RECORDS.join('').length, 17)}`)
    await line.expect('4')
    line.say('R')
    const receipt = await line.expect('E')
    const hash = inRecords(digest)
    assert.deepEqual(
      receipt.subarray(HEAD, HEAD + 2 + hash.length),
      octets(u2(hash.length), hash),
      `EERPHSH by suite ${suite}`,
    )
    line.say('P')
    await line.expect('R')
    line.say('F00000\r')
    assert.equal((await foreign.arrived('FROM-THERE')).toString(), 'abc\n\nhello\n')
  }
}

/** The partner takes the file and sends no receipt until the deadline has passed. */
async function passDeadline(foreign: Foreign, id: string): Promise<Sent> {
  const { line } = await foreign.called('5')
  const sent = await takeFile(line)
  line.say('F00000\r')
  await waitFor(
    'the transfer to wait for its receipt',
    async () => (await foreign.transfer(id)).receipts_until,
    60_000,
  )
  const { store, context } = foreign.node
  await store.db.updateTable('transfer').set({ receipts_until: 1, due_at: 1 }).where('id', '=', id).execute()
  context.wake({ kind: 'due' })
  assert.equal((await foreign.ended(id)).error_code, 'receipt_late')
  return sent
}

/** Exchanged after the deadline: nobody has the key any more that the partner signed with before. */
async function lateByOldKey(t: TestContext, { node, keys }: Bench): Promise<void> {
  const foreign = await node.relate(t, { validationHashFiles: true, security: keysOf(keys) })
  const id = await foreign.send('a.bin', CONTENT)
  const sent = await passDeadline(foreign, id)
  const { code } = foreign
  const body = { security: { rsaRemoteKey: (await makeTestKey('foreign')).certificatePem } }
  assert.equal((await node.call('updateChannel', { code, as: 'admin', body })).status, 200)
  const { line } = await foreign.calls(t, '5')
  const hash = hashOf('sha256')
  for (let time = 0; time < 2; time++) {
    line.say(eerp(sent, foreign, hash, signed(keys.theirs, covered(sent, foreign, hash), 'sha256')))
    await line.expect('P')
  }
  line.hangUp()
  const { error } = await foreign.transfer(id)
  assert.match(
    error ?? '',
    /no receipt came [^;]*; a.bin: a receipt came later, at \S+Z, signed with another key [^;]*$/,
  )
  assert.equal((await foreign.file(id)).receipt, 'AWAITED')
  const { status, body: retried } = await node.call('retryTransfer', { code, as: 'admin' })
  assert.equal(status, 200)
  assert.deepEqual(
    [
      (await foreign.file(String(retried.transferId))).phase,
      (await foreign.file(String(retried.transferId))).receipt,
    ],
    ['ARRIVED', 'AWAITED'],
    'nothing is sent twice',
  )
}

/** The deadline passes; then the partner calls and says what became of the file. */
async function late(t: TestContext, { node }: Bench): Promise<void> {
  for (const answer of ['EERP', 'NERP'] as const) {
    const foreign = await node.relate(t, awaiting())
    const id = await foreign.send('a.bin', CONTENT)
    const sent = await passDeadline(foreign, id)
    const again = (await foreign.calls(t, '5')).line
    const nerp = octets(
      `N${sent.dataset}${x('', 6)}${sent.stamp}${x(NODE_ID, 25)}${x(foreign.id, 25)}${x(foreign.id, 25)}34006no way`,
    )
    again.say(answer === 'EERP' ? eerp(sent, foreign, new Uint8Array(0), new Uint8Array(0)) : nerp)
    await again.expect('P')
    again.say('F00000\r')
    const { state, error } = await foreign.transfer(id)
    assert.equal(state, 'FAILED', 'what was told stays told')
    const said = answer === 'EERP' ? 'positive' : 'negative \\(processing failed \\(NERP 34\\): no way\\)'
    assert.match(
      error ?? '',
      new RegExp(`no receipt came .*; a.bin: its receipt came later, at \\S+Z, and is ${said}$`),
    )
    const file = await foreign.file(id)
    assert.equal(file.receipt, answer === 'EERP' ? 'POSITIVE' : 'NEGATIVE')
    assert.ok(file.receipt_at)
    if (answer === 'EERP') await completesByRetry(foreign)
  }
}

/** The partner has said that it has the file: a retry sends nothing. */
async function completesByRetry(foreign: Foreign): Promise<void> {
  const { body } = await foreign.node.call('retryTransfer', { code: foreign.code, as: 'admin' })
  const { state, error } = await foreign.ended(String(body.transferId))
  assert.equal(state, 'COMPLETED', error ?? '')
}

const CASES: readonly [string, (t: TestContext, bench: Bench) => Promise<void>][] = [
  ['the hash of a plain file’s receipt is that of the announced suite', hashOfSuite],
  ['a signed receipt for other octets fails the transfer and says which hash it shows', wrongHash],
  ['an unsigned receipt where a signed one is asked for fails the transfer', unsigned],
  [
    'where no proof is asked for, a receipt that proves itself wrong fails the transfer all the same',
    wrongProof,
  ],
  ['a receipt about a file between other ends is nobody’s', otherEnds],
  ['a receipt by the key of then or of now counts, and by no other', keyExchanged],
  ['without keys no hash is asked for, and the receipt counts', withoutKeys],
  ['a partner below 2.0 gets no file that must be proven', olderLevel],
  ['ours shows the hash of the suite that the partner announced, and is signed', ourHash],
  ['the hash of plain variable records is that of what they hold, for files that go', recordsSent],
  ['and for files that come', recordsReceived],
  ['ours is not signed and has no hash where the partner did not ask', oursUnsigned],
  ['a receipt that comes after its deadline is kept and shown', late],
  ['one by a key that was exchanged after the deadline is not taken for a negative one', lateByOldKey],
]

test('what receipts prove, against a partner that keeps to the standard', { skip: noOpenssl }, async (t) => {
  const [ours, theirs] = [await makeTestKey('node'), await makeTestKey('foreign')]
  const bench = { node: await startForeignNode(t), keys: { ours, theirs } }
  for (const [title, run] of CASES) await t.test(title, (inner) => run(inner, bench))
})
