import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeTestKey } from '../../../../test/support/cms-keys.ts'
import { ownIdentity, pinnedCertificate } from './certificates.ts'

test('a call shows the certificate of the key at work with its chain, and none of a key of before', async () => {
  const [own, authority, before] = [
    await makeTestKey('own'),
    await makeTestKey('ca'),
    await makeTestKey('before'),
  ]
  const pems = [own.privateKeyPem, own.certificatePem, authority.certificatePem]
  const shown = ownIdentity([...pems, before.privateKeyPem, before.certificatePem].join('\n'))
  assert.deepEqual(shown, ownIdentity(pems.join('\n')))
  assert.equal(shown?.cert.match(/BEGIN CERTIFICATE/g)?.length, 2)
})

test('a certificate under its old label is pinned too', async () => {
  const { certificatePem } = await makeTestKey('partner')
  const pinned = pinnedCertificate(certificatePem.replaceAll(' CERTIFICATE', ' X509 CERTIFICATE'))
  assert.equal(pinned?.toString(), certificatePem)
})
