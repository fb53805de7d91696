import assert from 'node:assert/strict'
import { createHash, privateEncrypt, randomBytes } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { nodeError, run, sampleBytes } from '../../../../test/support/streams.ts'
import { digestOid, OID } from './algorithms.ts'
import * as der from './der.ts'
import { readPrivateKey } from './keys.ts'
import { makeTestKey, type TestKey } from '../../../../test/support/cms-keys.ts'
import { encryptBuffer, signBuffer, verifyBuffer } from './messages.ts'
import { sign, type SignOptions } from './sign.ts'
import { verify } from './verify.ts'

describe('signed messages', () => {
  let key: TestKey
  let other: TestKey
  let options: SignOptions
  before(async () => {
    key = await makeTestKey('Banco Uno')
    other = await makeTestKey('Banco Dos')
    options = { ...key, digest: 'sha256', includeCertificate: false }
  })
  const theirs = (): { certificateOrPublicKeyPem: string } => ({
    certificateOrPublicKeyPem: key.certificatePem,
  })

  test('what was signed is what comes out, in any chunks, with every digest', async () => {
    for (const digest of ['sha1', 'sha256', 'sha512'] as const)
      for (const octets of [0, 1, 300_000])
        for (const sizes of octets < 10 ? [1] : [[1, 65_536], 100_000, 4_194_304]) {
          const content = sampleBytes(octets)
          const message = await run(content, sign({ ...options, digest }), sizes)
          assert.ok((await run(message, verify(theirs()), sizes)).equals(content))
        }
  })

  test('a certificate can lie in the private key’s PEM, and the partner’s may be a bare key', async () => {
    const privateKeyPem = `${other.certificatePem}${key.privateKeyPem}${key.certificatePem}`
    const message = await signBuffer(Buffer.from('hola'), {
      privateKeyPem,
      digest: 'sha512',
      includeCertificate: true,
    })
    const got = await verifyBuffer(message, { certificateOrPublicKeyPem: key.publicKeyPem })
    assert.equal(got.toString(), 'hola')
  })

  test('changed content, or another’s key, is a bad signature', async () => {
    const message = await signBuffer(Buffer.from('paguese a Juan'), options)
    const changed = Buffer.from(message)
    changed.write('Jose', changed.indexOf('Juan'))
    await assert.rejects(verifyBuffer(changed, theirs()), nodeError('bad_signature', /content was changed/))
    const wrong = { certificateOrPublicKeyPem: other.certificatePem }
    await assert.rejects(
      verifyBuffer(message, wrong),
      nodeError('bad_signature', /no signature was made with the key/),
    )
  })

  test('a message cut anywhere, or followed by anything, is a bad signature', async () => {
    const message = await signBuffer(Buffer.from('hola'), options)
    for (let length = 0; length < message.length; length++)
      await assert.rejects(run(message.subarray(0, length), verify(theirs()), 7), nodeError('bad_signature'))
    await assert.rejects(
      verifyBuffer(Buffer.concat([message, Buffer.alloc(1)]), theirs()),
      nodeError('bad_signature'),
    )
  })

  test('what is not signed at all is a bad signature', async () => {
    const sealed = await encryptBuffer(Buffer.from('x'), { ...theirs(), cipher: 'AES-256-CBC' })
    for (const bytes of [Buffer.alloc(0), Buffer.from('plain text'), randomBytes(1000), sealed])
      await assert.rejects(verifyBuffer(bytes, theirs()), nodeError('bad_signature'))
  })

  test('content signed without attributes is accepted, and refused when it was changed', async () => {
    for (const parameters of [[der.NULL], []]) {
      const message = bare(key, Buffer.from('hola'), parameters)
      assert.equal((await verifyBuffer(message, theirs())).toString(), 'hola')
      message.write('hoja', message.indexOf('hola'))
      await assert.rejects(verifyBuffer(message, theirs()), nodeError('bad_signature'))
    }
  })

  test('a message of segments in segments with open-ended lengths everywhere is read', async () => {
    const content = sampleBytes(5000)
    const message = loosened(bare(key, content, [der.NULL]))
    for (const sizes of [1, 999, 100_000])
      assert.ok((await run(message, verify(theirs()), sizes)).equals(content))
    const attributed = loosened(der.definite(await signBuffer(content, options)))
    assert.ok((await verifyBuffer(attributed, theirs())).equals(content))
  })

  test('a detached signature is verified over the content given alongside', async () => {
    const content = Buffer.from('EERP')
    const detached = withoutContent(der.definite(await signBuffer(content, options)))
    assert.equal((await verifyBuffer(detached, { ...theirs(), detachedContent: content })).toString(), 'EERP')
    await assert.rejects(verifyBuffer(detached, theirs()), nodeError('bad_signature', /carries no content/))
    const wrong = { ...theirs(), detachedContent: Buffer.from('NERP') }
    await assert.rejects(verifyBuffer(detached, wrong), nodeError('bad_signature'))
  })

  test('content that travels must be the content expected, where one is given', async () => {
    const message = await signBuffer(Buffer.from('EERP'), options)
    assert.equal(
      (await verifyBuffer(message, { ...theirs(), detachedContent: Buffer.from('EERP') })).toString(),
      'EERP',
    )
    for (const expected of ['EERR', 'EER', 'EERPX', ''])
      await assert.rejects(
        verifyBuffer(message, { ...theirs(), detachedContent: Buffer.from(expected) }),
        nodeError('bad_signature', /not the expected one/),
      )
  })

  test('signed attributes that speak of another content type do not pass', async () => {
    const message = await signBuffer(Buffer.from('hola'), options)
    // The first content type after the outer one is that of the content itself; it is not under the signature.
    const changed = Buffer.from(message)
    changed[changed.indexOf(der.oid(OID.data)) + 10] = 5
    await assert.rejects(
      verifyBuffer(changed, theirs()),
      nodeError('bad_signature', /another type of content/),
    )
  })
})

/** SignedData as the oldest implementations make it: definite lengths, no attributes. */
function bare(key: TestKey, content: Buffer, parameters: Buffer[]): Buffer {
  const { privateKey, certificate } = readPrivateKey(key.privateKeyPem, key.certificatePem)
  const algorithm = der.sequence(der.oid(digestOid('sha256')), ...parameters)
  const digest = createHash('sha256').update(content).digest()
  const signer = der.sequence(
    der.integer(1),
    der.sequence(certificate!.issuer, der.tlv(der.TAG.integer, certificate!.serial)),
    algorithm,
    der.algorithm(OID.rsaEncryption, der.NULL),
    der.octetString(privateEncrypt(privateKey, der.sequence(algorithm, der.octetString(digest)))),
  )
  const inner = der.sequence(
    der.integer(1),
    der.setOf([algorithm]),
    der.sequence(der.oid(OID.data), der.tlv(der.TAG.contextConstructed(0), der.octetString(content))),
    der.setOf([signer]),
  )
  return der.sequence(der.oid(OID.signedData), der.tlv(der.TAG.contextConstructed(0), inner))
}

/** The same message with every constructed value open-ended and its long octet strings in segments of segments. */
function loosened(bytes: Buffer): Buffer {
  return Buffer.concat(
    der.children(bytes).map(({ tag, value, whole }) => {
      if (tag === der.TAG.octetString && value.length > 1000) {
        const segments = Array.from({ length: Math.ceil(value.length / 1000) }, (_, i) =>
          der.octetString(value.subarray(i * 1000, i * 1000 + 1000)),
        )
        const nested = [der.openEnded(0x24), ...segments, der.closeEnded(1)]
        return Buffer.concat([
          der.openEnded(0x24),
          ...nested,
          der.octetString(Buffer.alloc(0)),
          der.closeEnded(1),
        ])
      }
      if ((tag & 0x20) === 0) return whole
      return Buffer.concat([der.openEnded(tag), loosened(value), der.closeEnded(1)])
    }),
  )
}

function withoutContent(message: Buffer): Buffer {
  const [type, explicit] = der.children(der.readTlv(message).value)
  const [version, digests, , ...rest] = der.children(der.readTlv(explicit!.value).value)
  const inner = der.sequence(
    version!.whole,
    digests!.whole,
    der.sequence(der.oid(OID.data)),
    ...rest.map(({ whole }) => whole),
  )
  return der.sequence(type!.whole, der.tlv(der.TAG.contextConstructed(0), inner))
}
