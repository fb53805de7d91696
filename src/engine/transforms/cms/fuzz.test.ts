// Whatever comes in, what goes out is the content or a NodeError of the step's own code: no other exception, no hang,
// no content accepted under a signature that does not cover it.

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import * as fc from 'fast-check'
import type { ErrorCode } from '../../../errors.ts'
import type { Step } from '../step.ts'
import { nodeError, run } from '../../../../test/support/streams.ts'
import { OID } from './algorithms.ts'
import { compress, decompress } from './compressed-data.ts'
import { decrypt } from './decrypt.ts'
import * as der from './der.ts'
import { encrypt } from './encrypt.ts'
import { makeTestKey, type TestKey } from '../../../../test/support/cms-keys.ts'
import { sign } from './sign.ts'
import { verify } from './verify.ts'

const CONTENT = Buffer.from('contenido de prueba '.repeat(20))
const RUNS = 400

type Subject = { name: string; message: Buffer; open: Step; code: ErrorCode; exact: boolean }

type Change =
  | { kind: 'set'; at: number; value: number }
  | { kind: 'cut'; at: number; length: number }
  | { kind: 'insert'; at: number; bytes: Uint8Array }
  | { kind: 'repeat'; at: number; length: number }

const place = fc.double({ min: 0, max: 1, noNaN: true })
const anyChange: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    kind: fc.constant('set' as const),
    at: place,
    value: fc.oneof(fc.nat(255), fc.constantFrom(0x80, 0x84, 0x86, 0xff, 0x30, 0x24, 0)),
  }),
  fc.record({ kind: fc.constant('cut' as const), at: place, length: fc.nat(40) }),
  fc.record({ kind: fc.constant('insert' as const), at: place, bytes: fc.uint8Array({ maxLength: 20 }) }),
  fc.record({ kind: fc.constant('repeat' as const), at: place, length: fc.nat(200) }),
)

function applied(message: Buffer, change: Change): Buffer {
  // Most of the structure is in the first and last few hundred octets; the messages here are not much longer.
  const at = Math.floor(change.at * message.length)
  const head = message.subarray(0, at)
  const tail = message.subarray(at)
  if (change.kind === 'set') return Buffer.concat([head, Buffer.from([change.value]), tail.subarray(1)])
  if (change.kind === 'cut') return Buffer.concat([head, tail.subarray(change.length)])
  if (change.kind === 'insert') return Buffer.concat([head, change.bytes, tail])
  return Buffer.concat([head, tail.subarray(0, change.length), tail])
}

async function checkOpens({ message, open, code, exact }: Subject, sizes: number): Promise<void> {
  const got = await run(message, open, sizes).catch((thrown: unknown) => {
    if (!nodeError(code)(thrown)) throw new Error('another exception got out', { cause: thrown })
  })
  if (got !== undefined && exact) assert.ok(got.equals(CONTENT), 'changed content was accepted')
}

const subjects: Subject[] = []

async function addSubject(
  name: string,
  make: Step,
  open: Step,
  code: ErrorCode,
  exact: boolean,
): Promise<void> {
  const message = await run(CONTENT, make, 100)
  subjects.push({ name, message, open, code, exact })
  subjects.push({ name: `${name}, definite`, message: der.definite(message), open, code, exact })
}

/** An envelope whose list of recipients never ends. */
async function* endlessRecipients(): AsyncGenerator<Uint8Array> {
  const opening = [der.openEnded(0x30), der.oid(OID.envelopedData), der.openEnded(0xa0), der.openEnded(0x30)]
  yield Buffer.concat([...opening, der.integer(0), der.openEnded(0x31)])
  for (;;) yield der.sequence(Buffer.alloc(50_000))
}

describe('hostile input', () => {
  let key: TestKey
  before(async () => {
    key = await makeTestKey('Banco Uno')
    const theirs = { certificateOrPublicKeyPem: key.certificatePem }
    const signed = sign({ ...key, digest: 'sha256', includeCertificate: true })
    await addSubject('signed', signed, verify(theirs), 'bad_signature', true)
    const unnamed = sign({ privateKeyPem: key.privateKeyPem, digest: 'sha1', includeCertificate: false })
    await addSubject('signed by identifier', unnamed, verify(theirs), 'bad_signature', true)
    // CBC carries no proof that it was not changed; that is what the signature inside is for.
    await addSubject(
      'cbc',
      encrypt({ ...theirs, cipher: 'AES-256-CBC' }),
      decrypt(key),
      'bad_envelope',
      false,
    )
    await addSubject(
      'gcm',
      encrypt({ ...theirs, cipher: 'AES-256-GCM', oaep: true }),
      decrypt(key),
      'bad_envelope',
      true,
    )
    await addSubject('compressed', compress(), decompress({ maxOctets: 10_000_000 }), 'bad_envelope', true)
  })

  test('the messages open while they are whole', async () => {
    for (const { message, open } of subjects) assert.ok((await run(message, open, 13)).equals(CONTENT))
  })

  test('valid messages with changes in them', async () => {
    for (const subject of subjects)
      await fc.assert(
        fc.asyncProperty(
          fc.array(anyChange, { minLength: 1, maxLength: 3 }),
          fc.integer({ min: 1, max: 3000 }),
          async (changes, sizes) =>
            checkOpens({ ...subject, message: changes.reduce(applied, subject.message) }, sizes),
        ),
        { numRuns: RUNS },
      )
  })

  test('every octet of every message set to what BER likes least', async () => {
    for (const subject of subjects)
      for (let at = 0; at < Math.min(subject.message.length, 100); at++)
        for (const value of [0x00, 0x80, 0x84, 0xff]) {
          const message = Buffer.from(subject.message)
          message[at] = value
          await checkOpens({ ...subject, message }, 4096)
        }
  })

  test('random bytes, also behind a good beginning', async () => {
    for (const subject of subjects)
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), place, async (bytes, kept) => {
          const good = subject.message.subarray(0, Math.floor(kept * subject.message.length))
          await checkOpens({ ...subject, message: Buffer.concat([good, bytes]) }, 50)
          await checkOpens({ ...subject, message: Buffer.from(bytes) }, 50)
        }),
        { numRuns: RUNS / 4 },
      )
  })

  test('a million open containers, and lengths of terabytes, are refused at once', async () => {
    const nested = Buffer.alloc(2_000_000, Buffer.from([0x30, 0x80]))
    const definite = Buffer.alloc(2_000_000, Buffer.from([0x30, 0x86, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff]))
    for (const { open, code, message } of subjects)
      for (const bomb of [nested, definite, Buffer.concat([message.subarray(0, 40), nested])])
        await assert.rejects(run(bomb, open, 1000), nodeError(code))
  })

  test('metadata without end is not buffered without end', async () => {
    await assert.rejects(async () => {
      for await (const _ of decrypt(key)(endlessRecipients()));
    }, nodeError('bad_envelope'))
  })
})
