// What the fields of `security` do.

import assert from 'node:assert/strict'
import { before } from 'node:test'
import type { TestContext } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import { makeTestKey } from '../support/cms-keys.ts'
import type { TestKey } from '../support/cms-keys.ts'
import { decryptBuffer, encryptBuffer } from '../../src/engine/transforms/cms/messages.ts'
import { field } from './field.ts'
import { Line } from './line.ts'
import type { LineOptions } from './line.ts'
import { CODE, channelOf, runningRig, startRig } from './rig.ts'
import { callOf, callerOf, offerOf } from './wire.ts'
import { reachOfCaller } from '../../src/engine/sessions/reach.ts'
import { shows } from '../support/reach.ts'

type Security = NonNullable<Channel['security']>

let ours: TestKey
let theirs: TestKey
before(async () => {
  ours = await makeTestKey('ours')
  theirs = await makeTestKey('theirs')
})
const keysOf = (): Security => ({
  rsaLocalKey: `${ours.privateKeyPem}\n${ours.certificatePem}`,
  rsaRemoteKey: theirs.certificatePem,
})

async function lineRig(t: TestContext, security: Security, options: LineOptions = {}) {
  const line = new Line(options)
  const rig = await startRig(t, { transports: [line] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: line.protocol as 'sftp' })
  await rig.putChannel(CODE, channelOf(rig, { security, connection: { ips: ['127.0.0.1'] } }))
  await rig.put('a.txt', 'a file')
  return { rig: rig.run(), line }
}

/** What lies at the partner's end after a send over the folder transport. */
async function sent(t: TestContext, security: Security): Promise<{ wire: Buffer; encryption: boolean }> {
  const rig = await runningRig(t, (rig) => channelOf(rig, { security }))
  await rig.put('a.txt', 'a file')
  const done = await rig.sendAndEnd()
  assert.equal(done.state, 'COMPLETED', done.error ?? '')
  return { wire: await rig.delivered('a.txt'), encryption: done.encryption }
}

field('security.cryptography', 'false: ciphrate counts as NO', async (t) => {
  const { wire, encryption } = await sent(t, { cryptography: false, ciphrate: 'ALL', ...keysOf() })
  assert.equal(wire.toString(), 'a file')
  assert.equal(encryption, false)
})

field('security.ciphrate', 'FILE: encrypted for rsaRemoteKey, opened with rsaLocalKey', async (t) => {
  const { wire, encryption } = await sent(t, { cryptography: true, ciphrate: 'FILE', ...keysOf() })
  assert.equal(wire.includes('a file'), false)
  assert.equal(encryption, true)
  assert.equal((await decryptBuffer(wire, { privateKeyPem: theirs.privateKeyPem })).toString(), 'a file')
  const rig = await runningRig(t, (rig) =>
    channelOf(rig, { security: { cryptography: true, ciphrate: 'FILE', ...keysOf() } }),
  )
  const forUs = { certificateOrPublicKeyPem: ours.certificatePem, cipher: 'AES-256-CBC' } as const
  await rig.offer('b.txt', await encryptBuffer(Buffer.from('for us'), forUs))
  assert.equal(await rig.fetch(), undefined)
  assert.equal((await rig.read('in', 'b.txt')).toString(), 'for us')
  await rig.offer('plain.txt', 'not encrypted')
  await rig.fetch()
  const refused = await rig.lastReception()
  assert.equal(refused.state, 'FAILED')
  assert.equal(await rig.errorCode(refused.id), 'bad_envelope')
  assert.deepEqual(await rig.list('in'), ['b.txt'])
})

field('security.ciphrate', 'NO: in clear', async (t) => {
  const { wire, encryption } = await sent(t, { cryptography: true, ciphrate: 'NO', ...keysOf() })
  assert.equal(wire.toString(), 'a file')
  assert.equal(encryption, false)
})

field(
  'security.ciphrate',
  'TRANSMISION and ALL: a session that is not encrypted is refused, both ways',
  async (t) => {
    for (const ciphrate of ['TRANSMISION', 'ALL'] as const) {
      const security = { cryptography: true, ciphrate, ...keysOf() }
      const rig = await runningRig(t, (rig) => channelOf(rig, { security }))
      await rig.put('a.txt', 'a file')
      const done = await rig.sendAndEnd()
      assert.equal(done.state, 'FAILED')
      assert.equal(await rig.errorCode(done.id), 'insecure_session')
      await assert.rejects(rig.host().offer(offerOf('b.txt')), { code: 'insecure_session' })
      const { rig: called } = await lineRig(t, security, { protocol: 'oftp2', encrypted: false })
      const host = called.host('oftp2')
      await assert.rejects(host.admit(callerOf({ encrypted: false })), { code: 'insecure_session' })
      assert.ok(await host.admit(callerOf({ encrypted: true })))
    }
  },
)

field(
  'security.ciphrate',
  'FILE: a file that is announced as not encrypted is refused before its first octet',
  async (t) => {
    const security = { cryptography: true, ciphrate: 'FILE', ...keysOf() } as const
    const capabilities = { records: true, envelopes: true }
    const { rig } = await lineRig(t, security, { protocol: 'oftp2', capabilities })
    const host = rig.host('oftp2')
    const signed = {
      signed: true,
      compressed: false,
      encrypted: false,
      cipher: 'AES-256-CBC',
      digest: 'sha256',
    } as const
    for (const envelope of [undefined, signed])
      await assert.rejects(host.offer(offerOf('b.txt', { envelope, encryptedSession: true })), {
        code: 'insecure_session',
      })
  },
)

field(
  'security.ciphrate',
  'TRANSMISION: nothing is handed over in a call that is not encrypted',
  async (t) => {
    const line = new Line({ encrypted: false })
    const rig = await startRig(t, { transports: [line] })
    line.leadTo(rig)
    await rig.putContact({ id: 'acme', protocol: 'sftp' })
    await rig.putChannel(
      CODE,
      channelOf(rig, {
        security: { cryptography: true, ciphrate: 'TRANSMISION' },
        connection: { advancedConfigurationConnection: { callingEnd: 'REMOTO' } },
      }),
    )
    await rig.put('a.txt', 'secret')
    const { id } = await rig.send()
    const reach = reachOfCaller(rig.context.seal, 'acme', shows({ encrypted: false }))
    await rig.host('sftp').turn(await line.open(callOf({ reach }), rig.host('sftp')))
    assert.equal((await rig.transfer(id)).state, 'PENDING')
    assert.deepEqual(await rig.inbox(), [])
  },
)

field(
  'security.ciphrate',
  'TRANSMISION: asks for an encrypted session, which makes the transfer an encrypted one',
  async (t) => {
    for (const ciphrate of ['TRANSMISION', 'FILE', 'ALL'] as const) {
      const { rig, line } = await lineRig(t, { cryptography: true, ciphrate, ...keysOf() })
      const done = await rig.sendAndEnd()
      assert.equal(done.encryption, true)
      assert.equal(line.calls[0]?.security.encrypted, ciphrate !== 'FILE')
      assert.equal((await rig.delivered('a.txt')).toString() === 'a file', ciphrate === 'TRANSMISION')
    }
  },
)

const OIDS = { 'AES-256-CBC': '60864801650304012a', 'AES-256-GCM': '60864801650304012e' }

field('security.confidentiality', 'the cipher of FILE', async (t) => {
  for (const [confidentiality, oid] of [
    ['AES-256-GCM', OIDS['AES-256-GCM']],
    ['AES-256-CBC', OIDS['AES-256-CBC']],
    [undefined, OIDS['AES-256-CBC']],
  ] as const) {
    const security = { cryptography: true, ciphrate: 'FILE', ...keysOf() } as const
    const { wire } = await sent(t, { ...security, ...(confidentiality && { confidentiality }) })
    assert.ok(wire.toString('hex').includes(oid), confidentiality)
  }
})

field(
  'security.authentication',
  'how the ends prove themselves; PASSWORD where there are keys',
  async (t) => {
    for (const [security, expected] of [
      [{ authentication: 'CERTIFICATE', localKey: 'a' }, 'CERTIFICATE'],
      [{ authentication: 'PASSWORD' }, 'PASSWORD'],
      [{ localKey: 'a' }, 'PASSWORD'],
      [{}, 'NONE'],
    ] as const) {
      const { rig, line } = await lineRig(t, security)
      await rig.sendAndEnd()
      assert.equal(line.calls[0]?.security.authentication, expected)
    }
  },
)

field('security.localKey', 'the secret that we present', async (t) => {
  const { rig, line } = await lineRig(t, { localKey: 'our secret' })
  await rig.sendAndEnd()
  assert.equal(line.calls[0]?.security.localKey, 'our secret')
})

field('security.remoteKey', 'the secret that we expect, of a caller too', async (t) => {
  const { rig, line } = await lineRig(t, { remoteKey: 'their secret' }, { protocol: 'oftp2' })
  await rig.sendAndEnd()
  assert.equal(line.calls[0]?.security.remoteKey, 'their secret')
  const { security } = await rig.host('oftp2').admit(callerOf())
  assert.deepEqual([security.remoteKey, security.authentication], ['their secret', 'PASSWORD'])
})

field('security.rsaLocalKey', 'without it nothing is signed and the transfer fails', async (t) => {
  const { rsaRemoteKey = '' } = keysOf()
  const rig = await runningRig(t, (rig) =>
    channelOf(rig, { svcff: true, emissionff: true, security: { rsaRemoteKey } }),
  )
  await rig.put('a.txt', 'a file')
  const done = await rig.sendAndEnd()
  assert.equal(done.state, 'FAILED')
  assert.match(done.error ?? '', /security\.rsaLocalKey is not set/)
  assert.deepEqual(await rig.inbox(), [])
})

field('security.rsaRemoteKey', 'another key there: only its owner opens the file', async (t) => {
  const other = await makeTestKey('other')
  const security = { cryptography: true, ciphrate: 'FILE', rsaRemoteKey: other.certificatePem } as const
  const { wire } = await sent(t, security)
  assert.equal((await decryptBuffer(wire, { privateKeyPem: other.privateKeyPem })).toString(), 'a file')
  // With another one it ends in an error, or, once in 256 times, where the padding looks right by chance, in nonsense.
  const opened = await decryptBuffer(wire, { privateKeyPem: theirs.privateKeyPem }).catch(() => undefined)
  assert.notEqual(opened?.toString(), 'a file')
})
