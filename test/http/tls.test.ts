// HTTP over TLS: a certificate that is renewed on the disk is shown to whoever connects next, without a restart.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { startTestNode, tempFolder } from '../support/harness.ts'

async function write(folder: string, commonName: string): Promise<void> {
  const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName, bits: 2048, days: 2 })
  put(join(folder, 'key.pem'), privateKeyPem)
  put(join(folder, 'cert.pem'), certificatePem)
}

/** As programs that renew certificates do it. */
function put(path: string, text: string): void {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

async function shownAt(url: string): Promise<string> {
  const { port } = new URL(url)
  const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

test('a renewed certificate is shown without a restart, and half a pair never', async (t) => {
  const folder = await tempFolder(t)
  await write(folder, 'first')
  const settings = {
    ESCLUSA_TLS_CERT: join(folder, 'cert.pem'),
    ESCLUSA_TLS_KEY: join(folder, 'key.pem'),
  }
  const { url } = await startTestNode(t, { settings, empty: true })
  assert.match(url, /^https:/)
  assert.equal(await shownAt(url), 'first')
  await write(folder, 'second')
  assert.equal(await shownAt(url), 'second')
  put(join(folder, 'cert.pem'), 'no certificate')
  assert.equal(await shownAt(url), 'second')
  await write(folder, 'third')
  assert.equal(await shownAt(url), 'third')
})
