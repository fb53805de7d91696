// The interop suite against a node of ours, over TLS and with certificates.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from '../support/harness.ts'
import { ask, startForeign } from './interop-own.ts'
import { makeIdentity } from './pair.ts'

test('the interop suite passes against a node of ours in another process, over TLS', async (t) => {
  const [ours, theirs] = [await makeIdentity('esclusa'), await makeIdentity('foreign')]
  const folder = await tempFolder(t)
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  await writeFile(key, ours.identity, { mode: 0o600 })
  await writeFile(certificate, theirs.certificate)
  const foreign = await startForeign(t, theirs, {
    id: 'O0013000003SECURE',
    code: 'SECURE',
    security: {
      cryptography: true,
      ciphrate: 'TRANSMISION',
      authentication: 'CERTIFICATE',
      localKey: 'THEIRS',
      remoteKey: 'OURS',
      rsaLocalKey: theirs.identity,
      rsaRemoteKey: ours.certificate,
    },
  })
  const settings = {
    ESCLUSA_INTEROP_OFTP2: `127.0.0.1:${foreign.secure}`,
    ESCLUSA_INTEROP_OFTP2_LOCAL: 'O0013000003SECURE',
    ESCLUSA_INTEROP_OFTP2_TLS: '1',
    ESCLUSA_INTEROP_OFTP2_KEY: key,
    ESCLUSA_INTEROP_OFTP2_CERTIFICATE: certificate,
  }
  const { said, can, cannot } = await ask(foreign, settings, { pass: 30, skipped: 0 })
  for (const suite of ['01', '02', '03', '04', '05', '06'])
    assert.ok(can.includes(`signed receipts by suite ${suite}`), said)
  assert.ok(can.includes('files that are compressed, signed and encrypted by suite 04'), said)
  // Secure authentication is of level 2.0, and the octets that ask for levels do without it.
  assert.ok(
    cannot.some((one) => one.startsWith('level 1.2 (it answers "F')),
    said,
  )
})
