// Both ways with the openssl command: what we write it reads, what it writes in any of its forms we read.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { run, sampleBytes } from '../../../../test/support/streams.ts'
import type { Cipher, Digest } from './algorithms.ts'
import { decrypt } from './decrypt.ts'
import { encrypt } from './encrypt.ts'
import { makeTestKey, noOpenssl, OpensslFolder, type TestKey } from '../../../../test/support/cms-keys.ts'
import { sign } from './sign.ts'
import { verify } from './verify.ts'

const SIZES = [0, 1, 5_000_000]
/** openssl 3.0 itself fails to stream an empty file. */
const STREAMABLE = [1, 5_000_000]
const ODD_CHUNKS = [1, 4095, 3, 70_001, 5]

describe('with openssl cms', { skip: noOpenssl }, () => {
  let key: TestKey
  let folder: OpensslFolder
  before(async () => {
    key = await makeTestKey('Caja de Ñoños')
    folder = new OpensslFolder(key)
  })
  after(() => folder.remove())

  for (const digest of ['sha1', 'sha256', 'sha512'] as const satisfies Digest[])
    test(`openssl verifies what we sign with ${digest}, with and without the certificate inside`, async () => {
      for (const includeCertificate of [true, false])
        for (const octets of SIZES) {
          const content = sampleBytes(octets)
          folder.write('in', await run(content, sign({ ...key, digest, includeCertificate }), ODD_CHUNKS))
          const certificate = includeCertificate ? '' : ' -certfile cert.pem'
          folder.cms(`-verify -inform DER -in in -CAfile cert.pem -purpose any -out out${certificate}`)
          assert.ok(folder.read('out').equals(content))
        }
    })

  test('openssl verifies what we sign without a certificate, by key identifier', async () => {
    const { privateKeyPem } = key
    folder.write(
      'in',
      await run(Buffer.from('hola'), sign({ privateKeyPem, digest: 'sha256', includeCertificate: false })),
    )
    folder.cms('-verify -inform DER -in in -certfile cert.pem -CAfile cert.pem -purpose any -out out')
    assert.equal(folder.read('out').toString(), 'hola')
  })

  for (const cipher of ['AES-256-CBC', 'AES-256-GCM', '3DES-CBC'] as const satisfies Cipher[])
    test(`openssl decrypts what we encrypt with ${cipher}`, async () => {
      for (const certificateOrPublicKeyPem of [key.certificatePem, key.publicKeyPem])
        for (const oaep of [false, true])
          for (const octets of SIZES) {
            const content = sampleBytes(octets)
            folder.write(
              'in',
              await run(content, encrypt({ certificateOrPublicKeyPem, cipher, oaep }), ODD_CHUNKS),
            )
            folder.cms('-decrypt -inform DER -in in -inkey key.pem -recip cert.pem -out out')
            assert.ok(folder.read('out').equals(content))
          }
    })

  for (const stream of ['', ' -stream'])
    for (const form of ['', ' -noattr', ' -keyid', ' -nocerts', ' -keyid -nocerts -noattr'])
      test(`we verify openssl's -sign${stream}${form}`, async () => {
        for (const digest of ['sha1', 'sha256', 'sha384', 'sha512'])
          for (const octets of digest === 'sha256' ? (stream ? STREAMABLE : SIZES) : [1000]) {
            const content = sampleBytes(octets)
            folder.write('in', content)
            folder.cms(
              `-sign -nodetach -outform DER -md ${digest}${stream}${form} -in in -out out -signer cert.pem -inkey key.pem`,
            )
            const message = folder.read('out')
            for (const certificateOrPublicKeyPem of [key.certificatePem, key.publicKeyPem]) {
              const got = await run(message, verify({ certificateOrPublicKeyPem }), ODD_CHUNKS)
              assert.ok(got.equals(content), `${digest}, ${octets} octets`)
            }
          }
      })

  test('we verify openssl’s RSA-PSS signature', async () => {
    folder.write('in', 'hola')
    folder.cms(
      '-sign -nodetach -outform DER -md sha256 -in in -out out -signer cert.pem -inkey key.pem -keyopt rsa_padding_mode:pss',
    )
    const got = await run(folder.read('out'), verify({ certificateOrPublicKeyPem: key.certificatePem }))
    assert.equal(got.toString(), 'hola')
  })

  test('a certificate with several names and a serial number of any shape finds its recipient both ways', async () => {
    for (const serial of ['0xF00000000000000001', '0x7F', '0x80', '1']) {
      folder.openssl(
        `req -x509 -key key.pem -out odd.pem -days 10 -set_serial ${serial} -subj /C=ES/O=Banco_Uno/OU=A+UID=7/CN=x`,
      )
      const certificatePem = folder.read('odd.pem').toString()
      const { privateKeyPem } = key
      folder.write('in', 'hola')
      folder.cms('-encrypt -outform DER -aes256 -in in -out out -recip odd.pem')
      assert.equal(
        (await run(folder.read('out'), decrypt({ privateKeyPem, certificatePem }))).toString(),
        'hola',
      )
      const certificateOrPublicKeyPem = certificatePem
      folder.write(
        'in',
        await run(Buffer.from('hola'), encrypt({ certificateOrPublicKeyPem, cipher: 'AES-256-CBC' })),
      )
      folder.cms('-decrypt -inform DER -in in -inkey key.pem -recip odd.pem -out out')
      assert.equal(folder.read('out').toString(), 'hola')
    }
  })

  test('what is for a key or certificate of before opens with what was put in front of it, which alone signs', async () => {
    const [before, fresh] = [await makeTestKey('Before'), await makeTestKey('Fresh')]
    folder.openssl('req -x509 -key key.pem -out renewed.pem -days 10 -subj /CN=renewed')
    folder.write('before.pem', before.certificatePem)
    folder.write('fresh.pem', fresh.certificatePem)
    const renewed = folder.read('renewed.pem').toString()
    const old = `${before.privateKeyPem.trim()}\n${before.certificatePem}`
    // Broken ones behind it do not stop the key at work.
    const broken = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'
    const privateKeyPem = `${key.privateKeyPem.trim()}\n${renewed}${key.certificatePem}${old}${broken}`
    folder.write('in', 'hola')
    for (const name of ['renewed', 'cert', 'before'])
      for (const form of ['', ' -keyid']) {
        folder.cms(`-encrypt -outform DER -aes256${form} -in in -out out -recip fresh.pem -recip ${name}.pem`)
        const got = await run(folder.read('out'), decrypt({ privateKeyPem }))
        assert.equal(got.toString(), 'hola', name + form)
      }
    folder.cms('-encrypt -outform DER -aes256 -in in -out out -recip fresh.pem')
    await assert.rejects(run(folder.read('out'), decrypt({ privateKeyPem })), /it is not for this key/)
    const signed = await run(
      Buffer.from('hola'),
      sign({ privateKeyPem, digest: 'sha256', includeCertificate: false }),
    )
    await run(signed, verify({ certificateOrPublicKeyPem: key.certificatePem }))
  })

  const OAEP = [
    '',
    ' -keyopt rsa_padding_mode:oaep',
    ' -keyopt rsa_padding_mode:oaep -keyopt rsa_oaep_md:sha256',
  ]
  for (const stream of ['', ' -stream'])
    for (const cipher of ['-aes256', '-aes128', '-aes-256-gcm', '-des3'])
      test(`we decrypt openssl's -encrypt ${cipher}${stream}, with -keyid and OAEP too`, async () => {
        for (const form of [...OAEP.map((oaep) => ` -recip cert.pem${oaep}`), ' -keyid -recip cert.pem'])
          for (const octets of form.includes('-key') ? [1000] : stream ? STREAMABLE : SIZES) {
            const content = sampleBytes(octets)
            folder.write('in', content)
            folder.cms(`-encrypt -outform DER ${cipher}${stream} -in in -out out${form}`)
            const got = await run(folder.read('out'), decrypt(key), ODD_CHUNKS)
            assert.ok(got.equals(content), `${form}, ${octets} octets`)
          }
      })
})
