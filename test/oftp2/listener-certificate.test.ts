// The certificate of the OFTP2 TLS listener: from files by setting, exchanged while the node runs.

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { listenerCertificate } from '../../src/engine/transports/oftp2/listener-certificate.ts'
import { startCalledBank } from '../attacks/partner.ts'
import { tempFolder } from '../support/harness.ts'
import { fillUp, remount, skipWithoutMount, smallDisk } from '../support/small-disk.ts'

async function shownAt(port: number): Promise<string | undefined> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const shown = socket.getPeerX509Certificate()?.fingerprint256
  socket.destroy()
  return shown
}

test('the listener shows the certificate of its setting, and a new one without a restart, but never half a pair', async (t) => {
  const folder = await tempFolder(t)
  const [certPath, keyPath] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const replace = async (path: string, text: string) => {
    await writeFile(`${path}.new`, text)
    await rename(`${path}.new`, path)
  }
  const [first, second] = [
    await generateSelfSigned({ commonName: 'first', bits: 2048 }),
    await generateSelfSigned({ commonName: 'second', bits: 2048 }),
  ]
  const fingerprint = (pem: string) => new X509Certificate(pem).fingerprint256
  await replace(certPath, first.certificatePem)
  await replace(keyPath, first.privateKeyPem)
  const settings = { ESCLUSA_OFTP2_TLS_CERT: certPath, ESCLUSA_OFTP2_TLS_KEY: keyPath }
  const { port } = await startCalledBank(t, 'oftp2', { tls: true, settings })
  assert.equal(await shownAt(port), fingerprint(first.certificatePem))
  await replace(certPath, second.certificatePem)
  assert.equal(await shownAt(port), fingerprint(first.certificatePem))
  await replace(keyPath, second.privateKeyPem)
  assert.equal(await shownAt(port), fingerprint(second.certificatePem))
  await replace(certPath, 'no certificate')
  assert.equal(await shownAt(port), fingerprint(second.certificatePem))
})

test('files that are no certificate and its key stop the node, and the message names the settings', async (t) => {
  const folder = await tempFolder(t)
  const path = join(folder, 'empty.pem')
  await writeFile(path, '')
  const settings = { ESCLUSA_OFTP2_TLS_CERT: path, ESCLUSA_OFTP2_TLS_KEY: path }
  await assert.rejects(startCalledBank(t, 'oftp2', { tls: true, settings }), /ESCLUSA_OFTP2_TLS_CERT/)
  const none = { ...settings, ESCLUSA_OFTP2_TLS_KEY: join(folder, 'none.pem') }
  await assert.rejects(
    startCalledBank(t, 'oftp2', { tls: true, settings: none }),
    /ESCLUSA_OFTP2_TLS_KEY.*none\.pem: ENOENT/,
  )
})

async function pemOf(commonName: string): Promise<string> {
  const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName, bits: 2048 })
  return privateKeyPem + certificatePem
}

/** What the node shows that has neither setting. */
const kept = (keptPath: string, make: () => Promise<string>) =>
  listenerCertificate({ own: undefined, http: undefined, keptPath, make, warn: assert.fail })

test('of two nodes that make a certificate in one data folder at the same time both show the first', async (t) => {
  const path = join(await tempFolder(t), 'oftp2-tls.pem')
  const [ours, theirs] = [await pemOf('ours'), await pemOf('theirs')]
  const shown = await kept(path, async () => (await writeFile(path, theirs), ours))
  assert.equal(shown.key, theirs)
  assert.equal(await readFile(path, 'utf8'), theirs)
})

test(
  'on a full disk no half certificate is left, and one is made when there is room',
  { skip: skipWithoutMount },
  async (t) => {
    const folder = join(await tempFolder(t), 'small')
    const path = join(folder, 'oftp2-tls.pem')
    await smallDisk(t, folder)
    fillUp(folder)
    const made = await pemOf('made')
    await assert.rejects(
      kept(path, () => Promise.resolve(made)),
      { code: 'ENOSPC' },
    )
    assert.deepEqual(await readdir(folder), ['fill'])
    remount(folder, 'size=2m')
    assert.equal((await kept(path, () => Promise.resolve(made))).key, made)
    assert.equal((await kept(path, assert.fail)).key, made)
  },
)
