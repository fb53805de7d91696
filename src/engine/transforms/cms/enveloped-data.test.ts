import assert from 'node:assert/strict'
import { constants, createCipheriv, publicEncrypt, randomBytes } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { nodeError, run, sampleBytes } from '../../../../test/support/streams.ts'
import { cipherByName, OID, type Cipher } from './algorithms.ts'
import { decrypt } from './decrypt.ts'
import * as der from './der.ts'
import { encrypt } from './encrypt.ts'
import { readPartnerKey } from './keys.ts'
import { makeTestKey, type TestKey } from '../../../../test/support/cms-keys.ts'
import { decryptBuffer, encryptBuffer, signBuffer } from './messages.ts'

const CIPHERS: Cipher[] = ['AES-256-CBC', 'AES-256-GCM', '3DES-CBC']

describe('enveloped messages', () => {
  let key: TestKey
  let other: TestKey
  before(async () => {
    key = await makeTestKey('Banco Uno')
    other = await makeTestKey('Banco Dos')
  })

  for (const cipher of CIPHERS) {
    test(`${cipher}: what was sealed comes out, in any chunks`, async () => {
      for (const octets of [0, 1, 300_000])
        for (const sizes of octets < 10 ? [1] : [[1, 65_536], 100_000, 4_194_304])
          for (const certificateOrPublicKeyPem of [key.certificatePem, key.publicKeyPem]) {
            const content = sampleBytes(octets)
            const sealed = await run(content, encrypt({ certificateOrPublicKeyPem, cipher }), sizes)
            assert.ok(!sealed.includes('adeudo'))
            assert.ok((await run(sealed, decrypt(key), sizes)).equals(content))
          }
    })

    test(`${cipher}: cut anywhere, or followed by anything, it does not open`, async () => {
      const sealed = await encryptBuffer(Buffer.from('hola'), {
        certificateOrPublicKeyPem: key.certificatePem,
        cipher,
      })
      for (let length = 0; length < sealed.length; length++)
        await assert.rejects(run(sealed.subarray(0, length), decrypt(key), 7), nodeError('bad_envelope'))
      await assert.rejects(
        decryptBuffer(Buffer.concat([sealed, Buffer.alloc(1)]), key),
        nodeError('bad_envelope'),
      )
    })
  }

  test('GCM notices a change of any octet of content or tag', async () => {
    const options = { certificateOrPublicKeyPem: key.certificatePem, cipher: 'AES-256-GCM' as const }
    const content = randomBytes(100)
    const sealed = await encryptBuffer(content, options)
    const start = sealed.lastIndexOf(Buffer.from([0x04, 100])) + 2
    for (const at of [start, start + 99, start + 100 + 4 + 2, start + 100 + 4 + 17]) {
      const changed = Buffer.from(sealed)
      changed[at]! ^= 1
      await assert.rejects(
        decryptBuffer(changed, key),
        nodeError('bad_envelope', /it was changed, or its key/),
      )
    }
  })

  test('an envelope for somebody else says so', async () => {
    for (const certificateOrPublicKeyPem of [other.certificatePem, other.publicKeyPem]) {
      const sealed = await encryptBuffer(Buffer.from('x'), {
        certificateOrPublicKeyPem,
        cipher: 'AES-256-GCM',
      })
      await assert.rejects(decryptBuffer(sealed, key), nodeError('bad_envelope', /not for this key/))
    }
  })

  test('without our certificate an envelope named by one is tried with the key', async () => {
    const { privateKeyPem } = key
    for (const [certificateOrPublicKeyPem, good] of [
      [key.certificatePem, true],
      [other.certificatePem, false],
    ] as const) {
      const sealed = await encryptBuffer(Buffer.from('hola'), {
        certificateOrPublicKeyPem,
        cipher: 'AES-256-GCM',
      })
      const opening = decryptBuffer(sealed, { privateKeyPem })
      if (good) assert.equal((await opening).toString(), 'hola')
      else await assert.rejects(opening, nodeError('bad_envelope', /it was changed, or its key/))
    }
  })

  test('a wrong padding of the key, a wrong length and a wrong key end in the very same error', async () => {
    const { publicKey } = readPartnerKey(key.certificatePem)
    const none = { key: publicKey, padding: constants.RSA_NO_PADDING }
    const wrapped = [
      publicEncrypt(none, Buffer.concat([Buffer.from([0, 7]), randomBytes(254)])),
      publicEncrypt(none, Buffer.concat([Buffer.from([0, 2]), Buffer.alloc(254, 1)])),
      publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, randomBytes(16)),
      publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, randomBytes(32)),
      Buffer.alloc(256),
      Buffer.alloc(256, 0xff),
      Buffer.alloc(3),
    ]
    const messages = new Set<string>()
    for (const bytes of wrapped)
      await assert.rejects(decryptBuffer(sealedWith(key, bytes), key), (thrown) => {
        assert.ok(nodeError('bad_envelope')(thrown))
        messages.add(String(thrown))
        return true
      })
    assert.equal(messages.size, 1)
  })

  test('among several recipients ours is found', async () => {
    const contentKey = randomBytes(32)
    const sealed = sealedFor([other, key], contentKey, Buffer.from('hola'))
    for (const opened of [await decryptBuffer(sealed, key), await decryptBuffer(sealed, other)])
      assert.equal(opened.toString(), 'hola')
  })

  test('what is not an envelope does not open', async () => {
    const signed = await signBuffer(Buffer.from('x'), { ...key, digest: 'sha256', includeCertificate: true })
    for (const bytes of [Buffer.alloc(0), Buffer.from('plain text'), randomBytes(1000), signed])
      await assert.rejects(decryptBuffer(bytes, key), nodeError('bad_envelope'))
  })
})

function recipient(key: TestKey, wrapped: Buffer): Buffer {
  const { certificate } = readPartnerKey(key.certificatePem)
  return der.sequence(
    der.integer(0),
    der.sequence(certificate!.issuer, der.tlv(der.TAG.integer, certificate!.serial)),
    der.algorithm(OID.rsaEncryption, der.NULL),
    der.octetString(wrapped),
  )
}

function envelope(recipients: Buffer[], iv: Buffer, content: Buffer, tag: Buffer): Buffer {
  const parameters = der.sequence(der.octetString(iv), der.integer(16))
  const inner = der.sequence(
    der.integer(0),
    der.setOf(recipients),
    der.sequence(
      der.oid(OID.data),
      der.algorithm(cipherByName('AES-256-GCM').oid, parameters),
      der.tlv(der.TAG.context(0), content),
    ),
    der.octetString(tag),
  )
  return der.sequence(der.oid(OID.authEnvelopedData), der.tlv(der.TAG.contextConstructed(0), inner))
}

function sealedWith(key: TestKey, wrapped: Buffer): Buffer {
  return envelope([recipient(key, wrapped)], randomBytes(12), randomBytes(50), randomBytes(16))
}

function sealedFor(keys: TestKey[], contentKey: Buffer, content: Buffer): Buffer {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', contentKey, iv)
  const sealed = Buffer.concat([cipher.update(content), cipher.final()])
  const recipients = keys.map((key) => {
    const { publicKey } = readPartnerKey(key.certificatePem)
    return recipient(key, publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, contentKey))
  })
  return envelope(recipients, iv, sealed, cipher.getAuthTag())
}
