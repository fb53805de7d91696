import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { generateSelfSigned } from '../transforms/cms/self-signed.ts'
import { OFTP2 } from '../transports/oftp2/oftp2.ts'
import { SFTP } from '../transports/ssh/sftp-protocol.ts'
import { addressesOf, sameProof } from './call-terms.ts'
import { OPEN_SESSION } from '../../../test/support/open-session.ts'

describe('what proves the two ends of a call', () => {
  let ours: { privateKeyPem: string; certificatePem: string }
  let theirs: typeof ours

  before(async () => {
    ours = await generateSelfSigned({ commonName: 'ours', days: 2 })
    theirs = await generateSelfSigned({ commonName: 'theirs', days: 2 })
  })

  test('passwords are compared as the protocol does', () => {
    const one = { ...OPEN_SESSION, authentication: 'PASSWORD' as const, localKey: 'PWA', remoteKey: 'PWB' }
    assert.ok(sameProof(one, { ...one, localKey: 'pwa' }, OFTP2, false))
    assert.ok(!sameProof(one, { ...one, localKey: 'pwa' }, SFTP, false))
    assert.ok(!sameProof(one, { ...one, remoteKey: 'PWC' }, OFTP2, false))
    assert.ok(!sameProof(one, OPEN_SESSION, OFTP2, false))
  })

  test('keys are compared by what they are, not by their text', () => {
    const one = {
      ...OPEN_SESSION,
      authentication: 'CERTIFICATE' as const,
      rsaLocalKey: ours.privateKeyPem + ours.certificatePem,
      rsaRemoteKey: theirs.certificatePem,
    }
    const spelled = {
      ...one,
      rsaLocalKey: `${ours.certificatePem}\n${ours.privateKeyPem}`,
      rsaRemoteKey: theirs.certificatePem.replaceAll('\n', '\r\n'),
    }
    assert.ok(sameProof(one, spelled, OFTP2, true))
    assert.ok(!sameProof(one, { ...one, rsaLocalKey: theirs.privateKeyPem }, OFTP2, false))
    assert.ok(!sameProof(one, { ...one, rsaRemoteKey: ours.certificatePem }, OFTP2, false))
    assert.ok(!sameProof(one, { ...one, authentication: 'NONE' }, OFTP2, false))
  })

  test('the partner’s certificate counts where the line is encrypted', () => {
    const one = { ...OPEN_SESSION, rsaRemoteKey: theirs.certificatePem }
    const other = { ...OPEN_SESSION, rsaRemoteKey: ours.certificatePem }
    assert.ok(sameProof(one, other, OFTP2, false))
    assert.ok(!sameProof(one, other, OFTP2, true))
    assert.ok(!sameProof(one, OPEN_SESSION, OFTP2, true))
    assert.ok(
      sameProof(
        { ...OPEN_SESSION, rsaRemoteKey: 'no key' },
        { ...OPEN_SESSION, rsaRemoteKey: ' no key\n' },
        OFTP2,
        true,
      ),
    )
  })
})

test('an address has the port that the contact gives it, however it is spelled', () => {
  const data = { remoteIPs: [{ ipAddress: '0:0:0:0:0:0:0:1', port: 7001 }] }
  const contact = { data } as Parameters<typeof addressesOf>[0]['contact'] // nothing else of it is looked at
  const called = (ips: string[]) =>
    addressesOf({ contact, channel: { connection: { ips } }, security: { encrypted: false } }, OFTP2, 0)
  assert.deepEqual(called(['::1']), [{ host: '::1', port: 7001 }])
  assert.deepEqual(called(['::2']), [{ host: '::2', port: 3305 }])
})
