import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { makeTestKey, noOpenssl, OpensslFolder } from '../../../test/support/cms-keys.ts'
import { proposedKey } from './propose-key.ts'

const skip = noOpenssl
const der = (pem: string) => Buffer.from(pem.replaceAll(/-----[^-]+-----/g, ''), 'base64')

test('a certificate comes alone or in a CMS message, as PEM or DER, and is the same', { skip }, async (t) => {
  const key = await makeTestKey('partner')
  const folder = new OpensslFolder(key)
  t.after(() => folder.remove())
  for (const form of ['PEM', 'DER']) {
    folder.openssl(`crl2pkcs7 -nocrl -certfile cert.pem -outform ${form} -out ${form}`)
    const { pem, fingerprint } = proposedKey(folder.read(form))
    assert.deepEqual(der(pem), der(key.certificatePem), form)
    assert.equal(fingerprint, proposedKey(Buffer.from(key.certificatePem)).fingerprint)
  }
  assert.deepEqual(der(proposedKey(der(key.certificatePem)).pem), der(key.certificatePem))
})

test('a public key comes as PEM or DER, and nothing else that came with a key is kept', async () => {
  const { privateKeyPem, certificatePem, publicKeyPem } = await makeTestKey('partner')
  const pkcs1 = createPublicKey(publicKeyPem).export({ type: 'pkcs1', format: 'der' })
  for (const form of [Buffer.from(publicKeyPem), der(publicKeyPem), pkcs1])
    assert.equal(proposedKey(form).pem, publicKeyPem)
  const { pem } = proposedKey(Buffer.from(`Año\n${privateKeyPem}\n${certificatePem}${certificatePem}`))
  assert.equal(pem, certificatePem)
})

test('a key that cannot be used is refused with the reason', () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  for (const form of [Buffer.from(pem), der(pem)])
    assert.throws(() => proposedKey(form), {
      code: 'file_refused',
      message: 'the file is no key that can be proposed: the key is of type ec, not RSA',
    })
})

test('a private key alone is refused in any form', () => {
  const { privateKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  for (const type of ['pkcs1', 'pkcs8', 'sec1'] as const) {
    const key = type === 'sec1' ? ec : rsa
    const message =
      'the file is no key that can be proposed: it is a private key, which its owner alone may have'
    assert.throws(
      () => proposedKey(key.export({ type, format: 'der' })),
      { code: 'file_refused', message },
      type,
    )
    const pem = Buffer.from(key.export({ type, format: 'pem' }))
    assert.throws(() => proposedKey(pem), { code: 'file_refused' }, type)
  }
})

/** With the files `root` and `leaf`. */
async function chainFolder(t: TestContext): Promise<OpensslFolder> {
  const folder = new OpensslFolder(await makeTestKey('unused'))
  t.after(() => folder.remove())
  const made = (name: string, more: string) =>
    folder.openssl(
      `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=${name} -keyout ${name}.key -out ${name} ${more}`,
    )
  made('root', '-addext basicConstraints=critical,CA:TRUE')
  made('leaf', '-CA root -CAkey root.key -addext basicConstraints=CA:FALSE')
  return folder
}

test('of a chain the certificate that has issued no other is taken', { skip }, async (t) => {
  const folder = await chainFolder(t)
  for (const files of [
    ['root', 'leaf'],
    ['leaf', 'root'],
  ]) {
    const given = files.map((file) => `-certfile ${file}`).join(' ')
    folder.openssl(`crl2pkcs7 -nocrl ${given} -outform DER -out chain`)
    const pem = Buffer.concat(files.map((file) => folder.read(file)))
    for (const chain of [folder.read('chain'), pem])
      assert.deepEqual(der(proposedKey(chain).pem), der(folder.read('leaf').toString()))
  }
})

test(
  'a chain with a damaged certificate is refused, and its authority is not proposed',
  { skip },
  async (t) => {
    const folder = await chainFolder(t)
    const [leaf, root] = ['leaf', 'root'].map((name) => folder.read(name).toString()) as [string, string]
    const damages = [
      leaf.replace('MII', 'MIJ'),
      leaf.slice(0, leaf.indexOf('-----END')),
      leaf.replace('-----END CERTIFICATE-----', '-----END X509 CERTIFICATE-----'),
      leaf.replaceAll('CERTIFICATE', 'OLD CERTIFICATE'),
    ]
    for (const damaged of damages)
      for (const chain of [damaged + root, root + damaged])
        assert.throws(() => proposedKey(Buffer.from(chain)), {
          code: 'file_refused',
          message: 'the file is no key that can be proposed: it holds a certificate that cannot be read',
        })
    folder.openssl('x509 -in leaf -trustout -out trusted')
    const labelled = [leaf.replaceAll('CERTIFICATE', 'X509 CERTIFICATE'), folder.read('trusted').toString()]
    for (const one of labelled) assert.deepEqual(der(proposedKey(Buffer.from(root + one)).pem), der(leaf))
  },
)

test(
  'a CMS message that leaves open which certificate is meant, or is signed, is refused',
  { skip },
  async (t) => {
    const folder = new OpensslFolder(await makeTestKey('one'))
    t.after(() => folder.remove())
    folder.write('other.pem', (await makeTestKey('other')).certificatePem)
    folder.openssl('crl2pkcs7 -nocrl -certfile cert.pem -certfile other.pem -outform DER -out two')
    folder.write('content', 'something')
    folder.cms('-sign -nodetach -in content -signer cert.pem -inkey key.pem -outform DER -out signed')
    for (const name of ['two', 'signed', 'content'])
      assert.throws(() => proposedKey(folder.read(name)), { code: 'file_refused' }, name)
  },
)
