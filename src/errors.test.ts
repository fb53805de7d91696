import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, publicEncrypt } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { generateSelfSigned } from './engine/transforms/cms/self-signed.ts'
import { cleanWords, fromSocketError, messageOf, NodeError, toNodeError } from './errors.ts'

const RAW = /error:|SSL|routines|openssl|\.c:\d|EPROTO/

/** The error of a TLS call to that port. */
async function callError(t: TestContext, port: number, options = {}): Promise<Error> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
  t.after(() => socket.destroy())
  const [error] = (await once(socket, 'error')) as [Error]
  return error
}

async function listening(t: TestContext, server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

test('a full disk that nobody has translated is told as such, and is no fault of the node', async () => {
  const thrown: unknown = await writeFile('/dev/full', 'x').catch((error: unknown) => error)
  const { code, message } = toNodeError(thrown)
  assert.deepEqual([code, message], ['no_space', 'no space left'])
})

test('what ends a transfer is told in words that any database keeps', () => {
  const cause = { esid: '99' }
  const retryAfterSeconds = 7
  const dirty = new NodeError('remote_busy', `no\0\u001b[2J ${'x'.repeat(9000)}`, {
    cause,
    retryAfterSeconds,
  })
  const clean = toNodeError(dirty)
  assert.match(clean.message, /^no \[2J x+…$/)
  assert.equal(clean.message.length, 2000)
  assert.deepEqual([clean.code, clean.cause, clean.retryAfterSeconds], ['remote_busy', cause, 7])
  const plain = new NodeError('file_missing', 'Nómina 👨‍👩‍👧.txt does not exist')
  assert.equal(toNodeError(plain), plain)
  assert.equal(toNodeError(new Error('a\0\u202eb')).message, 'a b')
})

test('words of others are cut at whole characters', () => {
  assert.equal(cleanWords(`${'x'.repeat(498)}😀😀`), `${'x'.repeat(498)}\uFFFD…`)
  assert.equal(cleanWords('\0 \u2028'), '')
})

test('a partner that does not speak TLS is told in our words, with the cause kept', async (t) => {
  const port = await listening(
    t,
    createServer((socket) => socket.on('error', () => {}).end('220 welcome\r\n')),
  )
  const cause = await callError(t, port)
  assert.match(cause.message, RAW)
  const error = fromSocketError(cause, 'acme:6619')
  assert.equal(error.message, 'no TLS with acme:6619: the other end does not speak TLS there')
  assert.equal(error.cause, cause)
})

test('TLS that the ends cannot agree on, or where a certificate is asked for, is told in our words', async (t) => {
  const { privateKeyPem: key, certificatePem: cert } = await generateSelfSigned({
    commonName: 'acme',
    days: 2,
    bits: 2048,
  })
  const old = createTlsServer({ key, cert, maxVersion: 'TLSv1.2' }).on('tlsClientError', () => {})
  const cause = await callError(t, await listening(t, old), { minVersion: 'TLSv1.3' })
  assert.match(cause.message, RAW)
  assert.match(fromSocketError(cause, 'acme:6619').message, /no TLS version or cipher in common/)
  const strict = createTlsServer({ key, cert, ca: cert, requestCert: true, rejectUnauthorized: true })
  strict.on('tlsClientError', () => {})
  const unknown = await callError(t, await listening(t, strict))
  assert.match(unknown.message, RAW)
  assert.match(fromSocketError(unknown, 'acme:6619').message, /our certificate/)
})

test('what the cryptographic library throws is told without its own text', () => {
  const small = createPublicKey({
    key: { kty: 'RSA', n: 'sXchDaQebHnPiGvyDOAT4saGEUetSyo9MKLOoWFsueri23bOdgWp4Dy1Wl', e: 'AQAB' },
    format: 'jwk',
  })
  for (const fault of [
    () => createPrivateKey('-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'),
    () => publicEncrypt(small, Buffer.alloc(1000)),
  ])
    assert.throws(fault, (thrown: Error) => {
      assert.match(thrown.message, RAW)
      assert.doesNotMatch(messageOf(thrown), RAW)
      assert.match(messageOf(thrown), /^a cryptographic step failed \(.+\)$/)
      return true
    })
  assert.equal(messageOf(new Error('plain')), 'plain')
})
