import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { Channel } from '../contract/channel.ts'
import { makeTestKey } from '../../test/support/cms-keys.ts'
import { channelFaults, valueFaults } from './channel-faults.ts'
import { isInside } from './channel-rules.ts'

const ROOTS = { fileRoots: ['/srv/files'], scriptRoots: ['/srv/scripts'] }
const pointers = (channel: Channel, roots = ROOTS) =>
  channelFaults(channel, roots).map((fault) => fault.pointer)

test('addresses must be IPv4 or IPv6, and each there once however it is spelled', () => {
  assert.deepEqual(pointers({ connection: { ips: ['10.0.0.1', '::1'], proxyIps: ['10.0.0.1'] } }), [])
  assert.deepEqual(pointers({ connection: { ips: ['10.0.0.1', 'example.com', '10.0.0.256', ''] } }), [
    '/connection/ips/1',
    '/connection/ips/2',
    '/connection/ips/3',
  ])
  assert.deepEqual(
    pointers({ connection: { proxyIps: ['10.0.0.1', '::ffff:10.0.0.1', '2001:DB8::1', '2001:db8:0::1'] } }),
    ['/connection/proxyIps/1', '/connection/proxyIps/3'],
  )
})

const faultsAt = (filePath: string) => pointers({ directories: [{ direction: 'EMISION', filePath }] })

test('paths are absolute, without .., inside the roots', () => {
  for (const path of ['/srv/files', '/srv/files/a', '/srv/files/./a', '/srv/files/a/*.txt', '/srv//files/a'])
    assert.deepEqual(faultsAt(path), [], path)
  for (const path of [
    '',
    'a',
    './a',
    '/srv/files/../etc',
    '/srv/files/a/..',
    '/srv/filesystem',
    '/etc/passwd',
    '/',
  ])
    assert.deepEqual(faultsAt(path), ['/directories/0/filePath'], path)
  assert.equal(isInside('/srv/files2', '/srv/files'), false)
  assert.equal(isInside('/anything', '/'), true)
})

test('scripts are refused unless a script root is set, and outside of it', () => {
  const channel: Channel = {
    integrations: { exceptionFile: '/srv/scripts/x.sh', preEmisionFile: '/srv/files/x.sh' },
  }
  assert.deepEqual(pointers(channel), ['/integrations/preEmisionFile'])
  assert.deepEqual(pointers(channel, { ...ROOTS, scriptRoots: [] }), [
    '/integrations/exceptionFile',
    '/integrations/preEmisionFile',
  ])
})

test('an action needs its directory or script; that is no fault of a value by itself', () => {
  const channel: Channel = {
    integrations: { postEmisionAction: 'EMISION_MOVE', postReceptionAction: 'RECEPTION_EXECUTE' },
  }
  assert.deepEqual(pointers(channel), [
    '/integrations/postEmisionDirectory',
    '/integrations/postReceptionFile',
  ])
  assert.deepEqual(valueFaults(channel, ROOTS), [])
  assert.deepEqual(
    pointers({ integrations: { postEmisionAction: 'EMISION_MOVE', postEmisionDirectory: '/srv/files/x' } }),
    [],
  )
})

test('FIJO needs a record length', () => {
  assert.deepEqual(pointers({ directories: [{ fileFormat: 'FIJO' }] }), ['/directories/0/registerLength'])
  assert.deepEqual(pointers({ directories: [{ fileFormat: 'FIJO', registerLength: 0 }] }), [
    '/directories/0/registerLength',
  ])
  assert.deepEqual(pointers({ directories: [{ fileFormat: 'FIJO', registerLength: 80 }] }), [])
})

test('keys must parse: ours private, the partner’s public', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  assert.deepEqual(pointers({ security: { rsaLocalKey: privateKey, rsaRemoteKey: publicKey } }), [])
  assert.deepEqual(pointers({ security: { rsaLocalKey: publicKey, rsaRemoteKey: privateKey } }), [
    '/security/rsaLocalKey',
    '/security/rsaRemoteKey',
  ])
  assert.deepEqual(pointers({ security: { rsaLocalKey: 'x', rsaRemoteKey: '' } }), [
    '/security/rsaLocalKey',
    '/security/rsaRemoteKey',
  ])
  assert.deepEqual(pointers({ security: { localKey: 'any text', remoteKey: ' ' } }), [])
  assert.deepEqual(pointers({ security: { localKey: '', remoteKey: '' } }), [
    '/security/localKey',
    '/security/remoteKey',
  ])
})

test('what stands beside a key in its PEM must be of use: its certificate, read whole, and no passphrase', async () => {
  const [ours, theirs] = [await makeTestKey('ours'), await makeTestKey('theirs')]
  const own = `${ours.privateKeyPem.trim()}\n${ours.certificatePem}`
  const told = (security: Channel['security']) => channelFaults({ security }, ROOTS)
  for (const rsaLocalKey of [own, own.replaceAll('\n', '\r\n'), theirs.certificatePem + own, `text\n${own}`])
    assert.deepEqual(told({ rsaLocalKey, rsaRemoteKey: theirs.certificatePem + ours.certificatePem }), [])

  const key = createPrivateKey(ours.privateKeyPem)
  const hidden = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  assert.deepEqual(told({ rsaLocalKey: own + String(key.export({ ...hidden, type: 'pkcs8' })) }), [])
  const broken = theirs.certificatePem.replace('\nMII', '\nMIX')
  const half = theirs.certificatePem.slice(0, 300)
  const called = (label: string, pem: string) => pem.replaceAll(' CERTIFICATE', ` ${label} CERTIFICATE`)
  const old = (pem: string) => called('X509', pem)
  assert.deepEqual(told({ rsaLocalKey: old(own), rsaRemoteKey: old(theirs.certificatePem) }), [])
  const passphrase = 'is not a private key in PEM form without a passphrase: openssl pkey takes it away'
  const unreadable = 'holds a certificate that cannot be read'
  const named = 'holds a block TRUSTED CERTIFICATE: openssl x509 makes a CERTIFICATE of it'
  for (const [rsaLocalKey, message] of [
    [key.export({ ...hidden, type: 'pkcs8' }), passphrase],
    [key.export({ ...hidden, type: 'pkcs1' }) + ours.certificatePem, passphrase],
    [ours.privateKeyPem + theirs.certificatePem, 'holds no certificate that belongs to its private key'],
    [own + broken, unreadable],
    [ours.privateKeyPem + half, unreadable],
    [called('TRUSTED', own), named],
    [ours.privateKeyPem + old(theirs.certificatePem), 'holds no certificate that belongs to its private key'],
    [old(own) + old(broken), unreadable],
  ] as const)
    assert.deepEqual(told({ rsaLocalKey: String(rsaLocalKey) }), [
      { pointer: '/security/rsaLocalKey', message },
    ])
  for (const [rsaRemoteKey, message] of [
    [ours.certificatePem + broken, unreadable],
    [ours.certificatePem + half, unreadable],
    [ours.certificatePem + called('TRUSTED', theirs.certificatePem), named],
    [old(ours.certificatePem + broken), unreadable],
  ] as const)
    assert.deepEqual(told({ rsaRemoteKey }), [{ pointer: '/security/rsaRemoteKey', message }])
})

test('an RSA key that can be factored is refused, ours and the partner’s', () => {
  const weak = (modulusLength: number) =>
    generateKeyPairSync('rsa', {
      modulusLength,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
  const { privateKey, publicKey } = weak(1024)
  assert.deepEqual(valueFaults({ security: { rsaLocalKey: privateKey } }, ROOTS), [
    { pointer: '/security/rsaLocalKey', message: 'is an RSA key of 1024 bits: at least 2048 are needed' },
  ])
  assert.deepEqual(pointers({ security: { rsaRemoteKey: publicKey } }), ['/security/rsaRemoteKey'])
  assert.deepEqual(pointers({ security: { rsaRemoteKey: weak(512).publicKey } }), ['/security/rsaRemoteKey'])
})

test('a user is named once', () => {
  assert.deepEqual(pointers({ users: ['ana', 'eva', 'ana'] }), ['/users/2'])
})

test('a key that nothing here can use is refused when it is set, not when a file leaves', () => {
  const keys = {
    ed25519: generateKeyPairSync('ed25519'),
    ec: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
  }
  for (const [kind, { privateKey, publicKey }] of Object.entries(keys)) {
    const rsaLocalKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const rsaRemoteKey = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const message = `is of type ${kind}: RSA keys alone are supported`
    assert.deepEqual(channelFaults({ security: { rsaLocalKey, rsaRemoteKey } }, ROOTS), [
      { pointer: '/security/rsaLocalKey', message },
      { pointer: '/security/rsaRemoteKey', message },
    ])
  }
})
