import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { nodeError } from '../../../../test/support/streams.ts'
import { fingerprintOf, readCertificate, readPartnerKey, readPrivateKey } from './keys.ts'
import { makeTestKey, type TestKey } from '../../../../test/support/cms-keys.ts'
import { generateSelfSigned } from './self-signed.ts'

describe('keys', () => {
  let key: TestKey
  let other: TestKey
  before(async () => {
    key = await makeTestKey('Banco Uno')
    other = await makeTestKey('Banco Dos')
  })

  test('a self-signed certificate is signed by its key, dated, and carries its key identifier', async () => {
    const now = new Date('2030-01-02T03:04:05Z')
    const made = await generateSelfSigned({ commonName: 'Ñandú S.A.', bits: 2048, days: 10, now })
    const x509 = new X509Certificate(made.certificatePem)
    assert.ok(x509.verify(x509.publicKey))
    assert.equal(x509.subject, 'CN=Ñandú S.A.')
    const facts = readCertificate(made.certificatePem)
    assert.equal(facts.validFrom.toISOString(), '2030-01-02T02:04:05.000Z')
    assert.equal(facts.validTo.toISOString(), '2030-01-12T03:04:05.000Z')
    const local = readPrivateKey(made.privateKeyPem, made.certificatePem)
    assert.ok(local.keyId.equals(facts.subjectKeyId))
    await assert.rejects(generateSelfSigned({ commonName: 'x', bits: 1024 }), nodeError('bad_use'))
  })

  test('a bundle gives the private key with the certificate that fits it', () => {
    const bundle = `${other.certificatePem}\n# ours\n${key.privateKeyPem}${key.certificatePem}`
    assert.equal(readPrivateKey(bundle).certificate?.fingerprint, fingerprintOf(key.certificatePem))
    assert.equal(readPrivateKey(key.privateKeyPem).certificate, undefined)
    assert.throws(
      () => readPrivateKey(key.privateKeyPem, other.certificatePem),
      nodeError('bad_use', /belongs/),
    )
  })

  test('a partner’s key is a certificate or a bare public key, in either PEM form', () => {
    const { certificate, keyId, publicKey } = readPartnerKey(key.certificatePem)
    assert.equal(certificate?.subject, 'CN=Banco Uno')
    const pkcs1 = publicKey.export({ type: 'pkcs1', format: 'pem' }).toString()
    for (const pem of [key.publicKeyPem, pkcs1]) {
      const read = readPartnerKey(pem)
      assert.equal(read.certificate, undefined)
      assert.ok(read.keyId.equals(keyId))
    }
  })

  test('fingerprints are SHA-256 of the certificate, or of the public key', () => {
    const { fingerprint256 } = new X509Certificate(key.certificatePem)
    assert.equal(fingerprintOf(key.certificatePem), fingerprint256.replaceAll(':', '').toLowerCase())
    const spki = readPartnerKey(key.publicKeyPem).publicKey.export({ type: 'spki', format: 'der' })
    assert.equal(fingerprintOf(key.publicKeyPem), createHash('sha256').update(spki).digest('hex'))
  })

  test('what is no RSA key is refused without showing it', () => {
    const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const ec = curve.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    assert.throws(() => readPrivateKey(ec), nodeError('bad_use', /not RSA/))
    assert.throws(() => readPrivateKey(key.certificatePem), nodeError('bad_use', /no private key/))
    assert.throws(() => readPartnerKey(key.privateKeyPem), nodeError('bad_use', /neither/))
    const broken = key.privateKeyPem.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA')
    assert.throws(() => readPrivateKey(broken), nodeError('bad_use', /^the private key does not parse$/))
    const cut = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'
    assert.throws(() => readPartnerKey(cut), nodeError('bad_use', /does not parse/))
  })
})
