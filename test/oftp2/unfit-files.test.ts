// Files that a node cannot open, offered by a partner that keeps to RFC 5024 (5.3.3, 5.3.5, 5.3.10): refused at SFID with
// the standard's reason, before an octet of them has travelled; what only the octets can show is refused at their end.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { deflateSync } from 'node:zlib'
import { makeTestKey } from '../support/cms-keys.ts'
import { dataOf, n, octets, text, x } from '../support/oftp2/foreign.ts'
import { NODE_ID, startForeignNode } from './foreign-node.ts'
import type { Foreign, ForeignChannel, ForeignNode } from './foreign-node.ts'

/** SFID of an unstructured file: SFIDSEC, SFIDCIPH, SFIDCOMP, SFIDENV and SFIDSIGN as given. */
function sfid({ id }: Foreign, protection: string): Buffer {
  assert.equal(protection.length, 7)
  const ends = `${x('FILES', 8)}${x(NODE_ID, 25)}${x(id, 25)}U00000${n(1, 13)}${n(1, 13)}${n(0, 17)}`
  return octets(`H${x('CLOSED', 26)}   202611161213140007${ends}${protection}000`)
}

/** What the node answers to the offer, or, if it takes the file, to its end. */
async function answerTo(
  t: TestContext,
  foreign: Foreign,
  protection: string,
  content?: Buffer,
): Promise<string> {
  const { line } = await foreign.calls(t, '5')
  line.say(sfid(foreign, protection))
  const offered = text((await line.hear()) ?? Buffer.alloc(0))
  if (!offered.startsWith('2') || content === undefined) return offered
  line.say(dataOf(content))
  line.say(`T${n(0, 17)}${n(content.length, 17)}`)
  return text((await line.hear()) ?? Buffer.alloc(0))
}

/** DER: an element behind its tag and its length. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const length = content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 255]
  return Buffer.concat([Uint8Array.of(tag, ...length), content])
}

const ID_COMPRESSED = Buffer.from('060b2a864886f70d0109100109', 'hex')
const ID_ZLIB = Buffer.from('060b2a864886f70d0109100308', 'hex')
const ID_DATA = Buffer.from('06092a864886f70d010701', 'hex')

/** CompressedData of RFC 3274 around a zlib stream. */
const compressedData = (stream: Uint8Array): Buffer =>
  der(
    0x30,
    ID_COMPRESSED,
    der(
      0xa0,
      der(0x30, Uint8Array.of(2, 1, 0), der(0x30, ID_ZLIB), der(0x30, ID_DATA, der(0xa0, der(0x04, stream)))),
    ),
  )

type Case = {
  title: string
  protection: string
  keys?: 'ours' | 'theirs' | 'both'
  content?: () => Buffer
  answer: RegExp
}

const zlib = () => deflateSync(Buffer.from('the content '.repeat(40)))
const bent = (bytes: Buffer) => {
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 0x55
  return bytes
}

const CASES: readonly Case[] = [
  {
    title: 'an encrypted file for a channel without a key of its own: SFNA 16',
    protection: '010201N',
    keys: 'theirs',
    answer: /^316N\d{3}.*no key to open encrypted files/,
  },
  {
    title: 'an encrypted file for a channel without any keys: SFNA 16',
    protection: '010401N',
    answer: /^316N/,
  },
  {
    title: 'a signed file for a channel without the partner’s key: SFNA 19',
    protection: '020401N',
    keys: 'ours',
    answer: /^319N\d{3}.*no key to check signatures/,
  },
  {
    title: 'a suite that the node does not know: SFNA 15',
    protection: '031101N',
    keys: 'both',
    answer: /^315N\d{3}.*suite 11/,
  },
  {
    title: 'a signed receipt by a suite that the node does not know: SFNA 15',
    protection: '009900Y',
    keys: 'both',
    answer: /^315N/,
  },
  { title: 'a suite that nothing is made with is not looked at', protection: '009900N', answer: /^20{17}$/ },
  {
    title: 'a compressed file is taken',
    protection: '000011N',
    content: () => compressedData(zlib()),
    answer: /^4[YN]$/,
  },
  {
    title: 'a file whose compression is broken: EFNA 23',
    protection: '000011N',
    content: () => compressedData(bent(zlib())),
    answer: /^523/,
  },
  {
    title: 'a file that says it is compressed and is not: EFNA 23',
    protection: '000011N',
    content: () => Buffer.from('nothing of the kind'),
    answer: /^523/,
  },
  {
    title: 'a file that does not decrypt: EFNA 22, though it should be compressed inside',
    protection: '010411N',
    keys: 'both',
    content: () => Buffer.from('nothing of the kind'),
    answer: /^522/,
  },
]

test('files that cannot be opened are refused with the standard’s reason', async (t) => {
  const node: ForeignNode = await startForeignNode(t)
  const [ours, theirs] = [await makeTestKey('node'), await makeTestKey('foreign')]
  const keys: Record<NonNullable<Case['keys']>, ForeignChannel['security']> = {
    ours: { rsaLocalKey: `${ours.privateKeyPem.trim()}\n${ours.certificatePem}` },
    theirs: { rsaRemoteKey: theirs.certificatePem },
    both: {
      rsaLocalKey: `${ours.privateKeyPem.trim()}\n${ours.certificatePem}`,
      rsaRemoteKey: theirs.certificatePem,
    },
  }
  for (const { title, protection, keys: given, content, answer } of CASES)
    await t.test(title, async (inner) => {
      const foreign = await node.relate(inner, given ? { security: keys[given] } : {})
      assert.match(await answerTo(inner, foreign, protection, content?.()), answer)
      if (answer.source.startsWith('^3') || answer.source.startsWith('^5'))
        assert.deepEqual(await foreign.received(), [])
    })
})
