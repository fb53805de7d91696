// Signatures and encryption that anybody with patience could forge or change are not believed, and keys that are too weak, or
// of a kind that cannot be used, are refused when they are set.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { encryptBuffer, signBuffer } from '../../src/engine/transforms/cms/messages.ts'
import { makeTestKey } from '../support/cms-keys.ts'
import { text } from '../support/oftp2/foreign.ts'
import type { Announced } from '../support/oftp2/protected-files.ts'
import { handOver } from '../support/oftp2/protected-files.ts'
import { startForeignNode } from '../oftp2/foreign-node.ts'

type Key = { privateKeyPem: string; certificatePem: string }

const made = async (from: Key, to: Key, digest: 'sha1' | 'sha256', cipher: '3DES-CBC' | 'AES-256-CBC') =>
  encryptBuffer(
    await signBuffer(Buffer.from('PAY 0000001'), { ...from, digest, includeCertificate: false }),
    { certificateOrPublicKeyPem: to.certificatePem, cipher },
  )

const keyed = (ours: Key, theirs: Key) => ({
  svcff: true,
  receptionff: true,
  security: {
    cryptography: true,
    ciphrate: 'FILE' as const,
    rsaLocalKey: ours.privateKeyPem + ours.certificatePem,
    rsaRemoteKey: theirs.certificatePem,
  },
})

test('old digests and ciphers do not pass, said or unsaid, nor changed octets', async (t) => {
  const [ours, theirs] = [await makeTestKey('node'), await makeTestKey('partner')]
  const node = await startForeignNode(t)
  const foreign = await node.relate(t, keyed(ours, theirs))
  const { line } = await foreign.calls(t, '5')
  const bring = (name: string, suite: string, content: Buffer) =>
    handOver(foreign, line, { name, security: '03', suite }, content)
  const [sha1, tripleDes] = [
    await made(theirs, ours, 'sha1', 'AES-256-CBC'),
    await made(theirs, ours, 'sha256', '3DES-CBC'),
  ]
  assert.equal(await bring('sha1', '02', sha1), 'SFNA 15')
  assert.equal(await bring('3des', '03', tripleDes), 'SFNA 15')
  assert.equal(await bring('hidden-sha1', '04', sha1), 'EFNA 21')
  assert.equal(await bring('hidden-3des', '04', tripleDes), 'EFNA 22')
  const good = await made(theirs, ours, 'sha256', 'AES-256-CBC')
  // The initialisation vector stands in front of the content, behind the cipher's identifier and 2 octets.
  const iv = good.indexOf(Buffer.from('060960864801650304012a0410', 'hex')) + 13
  const changed = Buffer.from(good.map((octet, at) => (at === iv + 4 ? octet ^ 9 : octet)))
  assert.match(await bring('changed', '04', changed), /^EFNA 2[12]$/)
  assert.equal(await bring('good', '04', good), 'EFPA')
  assert.equal((await foreign.arrived('good')).toString(), 'PAY 0000001')
  assert.deepEqual(await foreign.received(), ['good'])
})

test('a certificate that has ended signs nothing and is not encrypted for', async (t) => {
  const ours = await makeTestKey('node')
  const now = new Date(2020, 1, 1)
  const expired = await generateSelfSigned({ commonName: 'old', bits: 2048, days: 30, now })
  const node = await startForeignNode(t)
  const foreign = await node.relate(t, keyed(ours, expired))
  const { line } = await foreign.calls(t, '5')
  const content = await made(expired, ours, 'sha256', 'AES-256-CBC')
  const announced: Announced = { name: 'expired', security: '03', suite: '04' }
  assert.equal(await handOver(foreign, line, announced, content), 'EFNA 21')
  assert.deepEqual(await foreign.received(), [])
  line.hangUp()
  await line.whenClosed()
  const id = await foreign.send('secret.txt', 'for a key that is over')
  const next = (await foreign.called('5')).line
  // Not a file: the turn, or the end of the session.
  assert.match(text((await next.hear()) ?? Buffer.alloc(0)), /^[RF]/)
  next.hangUp()
  const { state, error } = await foreign.ended(id)
  assert.equal(state, 'FAILED')
  assert.match(error ?? '', /certificate ended on 2020-03-0/)
})

test('weak keys and keys of other kinds are refused when they are set, and unsigned encryption is warned of', async (t) => {
  const node = await startForeignNode(t)
  const foreign = await node.relate(t)
  const set = (security: object) =>
    node.call('updateChannel', { code: foreign.code, as: 'admin', body: { security } })
  const spki = { type: 'spki', format: 'pem' } as const
  const pkcs8 = { type: 'pkcs8', format: 'pem' } as const
  const encodings = { publicKeyEncoding: spki, privateKeyEncoding: pkcs8 }
  const weak = {
    rsa: generateKeyPairSync('rsa', { modulusLength: 1024, ...encodings }),
    ec: generateKeyPairSync('ec', { namedCurve: 'P-256', ...encodings }),
    ed25519: generateKeyPairSync('ed25519', encodings),
  }
  for (const [kind, { publicKey, privateKey }] of Object.entries(weak))
    for (const security of [{ rsaRemoteKey: publicKey }, { rsaLocalKey: privateKey }]) {
      const { status, body } = await set(security)
      assert.equal(status, 400, kind)
      assert.match(body.message, kind === 'rsa' ? /RSA key of 1024 bits/ : new RegExp(`is of type ${kind}`))
    }
  const gcm = await set({ confidentiality: 'AES-256-GCM' })
  assert.equal(gcm.status, 200)
  assert.match(
    gcm.headers.get('warning') ?? '',
    /\/security\/confidentiality AES-256-GCM has no cipher suite in OFTP2/,
  )
  await set({ confidentiality: null })

  const unsigned = await set({ cryptography: true, ciphrate: 'FILE' })
  assert.equal(unsigned.status, 200)
  assert.match(
    unsigned.headers.get('warning') ?? '',
    /299 - "\/svcff files are encrypted and not signed, .*: set svcff and emissionff and receptionff"/,
  )
  const body = { svcff: true, emissionff: true, receptionff: true }
  const signed = await node.call('updateChannel', { code: foreign.code, as: 'admin', body })
  assert.doesNotMatch(signed.headers.get('warning') ?? '', /svcff/)
})
