// What the fields of the channel itself do.

import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { before } from 'node:test'
import { makeTestKey } from '../support/cms-keys.ts'
import type { TestKey } from '../support/cms-keys.ts'
import { signBuffer, verifyBuffer } from '../../src/engine/transforms/cms/messages.ts'
import { updateChannel } from '../../src/store/channels.ts'
import { startTestNode, waitFor } from '../support/harness.ts'
import { field } from './field.ts'
import { Line } from './line.ts'
import { CODE, channelOf, runningRig, startRig } from './rig.ts'
import type { Rig } from './rig.ts'
import { callerOf, offerOf } from './wire.ts'

let ours: TestKey
let theirs: TestKey
before(async () => {
  ours = await makeTestKey('ours')
  theirs = await makeTestKey('theirs')
})

const keysOf = () => ({
  rsaLocalKey: `${ours.privateKeyPem}\n${ours.certificatePem}`,
  rsaRemoteKey: theirs.certificatePem,
})

/** A file from the partner ends where it lay, and nothing of it is here. */
async function refusesIncoming(rig: Rig): Promise<void> {
  await rig.offer('in.txt', 'x')
  assert.notEqual(await rig.fetch(), undefined)
  assert.deepEqual(await readdir(rig.place.outbox), ['in.txt'])
  assert.deepEqual(await rig.list('in'), [])
}

field('application', 'names the channel that an incoming file belongs to', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig))
  await rig.putChannel('BANCO-ACME-FACTURA', {
    directories: [{ direction: 'RECEPCION', filePath: join(rig.place.files, 'facturas') }],
  })
  const incoming = await rig.host().offer(offerOf('f.txt', { application: 'FACTURA' }))
  await incoming.complete({ size: 0 })
  assert.deepEqual(await rig.list('facturas'), ['f.txt'])
  await assert.rejects(rig.host().offer(offerOf('f.txt', { application: 'OTRA' })), { code: 'not_found' })
})

field('direction', 'EMISION refuses incoming files, RECEPCION refuses send', async (t) => {
  const out = await runningRig(t, (rig) => channelOf(rig, { direction: 'EMISION' }))
  await refusesIncoming(out)
  await out.put('a.txt', 'a')
  assert.equal((await out.sendAndEnd()).state, 'COMPLETED')
  const inwards = await runningRig(t, (rig) => channelOf(rig, { direction: 'RECEPCION' }))
  await inwards.put('a.txt', 'a')
  await assert.rejects(inwards.send(), { code: 'bad_request' })
})

field('direction', 'a transfer that waits does not go the way that was closed meanwhile', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig))
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  const channel = await rig.channel()
  await rig.store.write((tx) =>
    updateChannel(tx, { ...channel, config: { ...channel.config, direction: 'RECEPCION' } }),
  )
  rig.run()
  await waitFor('it is parked', async () => (await rig.transfer(id)).dueAt > Date.now() + 1e12)
  assert.deepEqual(await rig.inbox(), [])
})

field('deactivateChannel', 'nothing moves: send, offers, calls and what waits', async (t) => {
  const rig = await startRig(t)
  await rig.putContact({ id: 'acme', protocol: 'oftp2' })
  await rig.putChannel(CODE, channelOf(rig, { deactivateChannel: true }))
  await rig.put('a.txt', 'a')
  await assert.rejects(rig.send(), { code: 'conflict' })
  await assert.rejects(rig.host().offer(offerOf('b.txt')), { code: 'remote_refused' })
  await assert.rejects(rig.host().admit(callerOf()), { code: 'login_refused' })
})

field('deactivateChannel', 'a transfer that waits stays PENDING', async (t) => {
  const rig = await startRig(t)
  await rig.putChannel(CODE, channelOf(rig))
  await rig.put('a.txt', 'a')
  const { id } = await rig.send()
  const channel = await rig.channel()
  const config = { ...channel.config, deactivateChannel: true }
  await rig.store.write((tx) => updateChannel(tx, { ...channel, config }))
  rig.run()
  await waitFor('it is parked', async () => (await rig.transfer(id)).dueAt > Date.now() + 1e12)
  assert.equal((await rig.transfer(id)).state, 'PENDING')
  assert.deepEqual(await rig.inbox(), [])
})

field('emission.active', 'false closes the way out alone', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig, { emission: { active: false } }))
  await rig.put('a.txt', 'a')
  await assert.rejects(rig.send(), { code: 'conflict' })
  await rig.offer('b.txt', 'b')
  assert.equal(await rig.fetch(), undefined)
  assert.deepEqual(await rig.list('in'), ['b.txt'])
})

field('emission.direction', 'narrows the way out likewise', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig, { emission: { direction: 'RECEPCION' } }))
  await rig.put('a.txt', 'a')
  await assert.rejects(rig.send(), { code: 'conflict' })
})

field('reception.active', 'false closes the way in alone', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig, { reception: { active: false } }))
  await refusesIncoming(rig)
  await rig.put('a.txt', 'a')
  assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
})

field('reception.direction', 'narrows the way in likewise', async (t) => {
  await refusesIncoming(await runningRig(t, (rig) => channelOf(rig, { reception: { direction: 'EMISION' } })))
})

field('users', 'only those named reach the channel', async (t) => {
  const node = await startTestNode(t)
  const closed = 'BANCO-BETA-NOMINA'
  assert.equal((await node.call('channelStatus', { as: 'operator', code: closed })).status, 200)
  assert.equal((await node.call('channelStatus', { as: 'advoperator', code: closed })).status, 403)
})

field('svcff', 'without it neither signature field does anything', async (t) => {
  const rig = await runningRig(t, (rig) =>
    channelOf(rig, { svcff: false, emissionff: true, receptionff: true, security: keysOf() }),
  )
  await rig.put('a.txt', 'plain')
  assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
  assert.equal((await rig.delivered('a.txt')).toString(), 'plain')
  await rig.offer('b.txt', 'unsigned')
  await rig.fetch()
  assert.equal((await rig.lastReception()).state, 'COMPLETED')
})

field('emissionff', 'files leave signed with rsaLocalKey', async (t) => {
  const rig = await runningRig(t, (rig) =>
    channelOf(rig, { svcff: true, emissionff: true, security: keysOf() }),
  )
  await rig.put('a.txt', 'to be signed')
  const done = await rig.sendAndEnd()
  assert.equal(done.state, 'COMPLETED', done.error ?? '')
  const message = await rig.delivered('a.txt')
  const content = await verifyBuffer(message, { certificateOrPublicKeyPem: ours.certificatePem })
  assert.equal(content.toString(), 'to be signed')
  await assert.rejects(verifyBuffer(message, { certificateOrPublicKeyPem: theirs.certificatePem }))
})

field(
  'receptionff',
  'an unsigned or wrongly signed file is quarantined, a signed one comes in bare',
  async (t) => {
    const rig = await runningRig(t, (rig) =>
      channelOf(rig, { svcff: true, receptionff: true, security: keysOf() }),
    )
    const signedBy = (key: TestKey) =>
      signBuffer(Buffer.from('content'), {
        privateKeyPem: `${key.privateKeyPem}\n${key.certificatePem}`,
        digest: 'sha256',
        includeCertificate: false,
      })
    for (const [name, bytes] of [
      ['unsigned.txt', Buffer.from('content')],
      ['stranger.txt', await signedBy(ours)],
    ] as const) {
      const path = await rig.offer(name, bytes)
      assert.equal(((await rig.fetch()) as { code?: string }).code, 'bad_signature')
      const { id, state } = await rig.lastReception()
      assert.equal(state, 'FAILED')
      assert.equal(await rig.errorCode(id), 'bad_signature')
      const kept = await readdir(join(rig.place.dataDir, 'quarantine', id))
      assert.deepEqual(
        kept.filter((one) => !one.startsWith('.opened-')),
        [name],
      )
      assert.deepEqual(await rig.list('in'), [])
      await rm(path)
    }
    await rig.offer('signed.txt', await signedBy(theirs))
    assert.equal(await rig.fetch(), undefined)
    assert.equal((await rig.read('in', 'signed.txt')).toString(), 'content')
  },
)

field(
  'keyExchangeChannel',
  'send sends our certificate; a received one is a proposal and no file',
  async (t) => {
    const rig = await runningRig(t, (rig) => channelOf(rig, { keyExchangeChannel: true, security: keysOf() }))
    await rig.put('a.txt', 'not this')
    const done = await rig.sendAndEnd()
    assert.equal(done.state, 'COMPLETED', done.error ?? '')
    const [name = ''] = await rig.inbox()
    assert.equal((await rig.delivered(name)).toString().trim(), ours.certificatePem.trim())
    await rig.offer('key.pem', theirs.certificatePem)
    assert.equal(await rig.fetch(), undefined)
    await rig.lastReception()
    assert.ok((await rig.history()).includes('KEY_RECEIVED'))
    const proposals = await rig.store.db.selectFrom('key_proposal').selectAll().execute()
    assert.deepEqual(
      proposals.map((one) => [one.contact_id, one.pem.trim(), one.accepted_at]),
      [['acme', theirs.certificatePem.trim(), null]],
    )
    assert.deepEqual(await rig.list('in'), [])
    const received = await rig.store.db.selectFrom('received_file').select('key_name').execute()
    assert.deepEqual(received, [{ key_name: 'key.pem' }], 'it comes once')
    await rig.offer('long.pem', Buffer.alloc(1024 * 1024 + 1))
    assert.match(String(await rig.fetch()), /long\.pem is too long for a key/)
  },
)

field(
  'allowSendDuplicateFiles',
  'false: what was sent under its name and hash is not sent again',
  async (t) => {
    const rig = await runningRig(t, (rig) => channelOf(rig))
    await rig.put('a.txt', 'same')
    assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
    await assert.rejects(rig.send(), { code: 'conflict', message: /a\.txt was sent already/ })
    await rig.put('a.txt', 'diff')
    await rig.put('b.txt', 'same')
    await rm(join(rig.place.inbox, 'a.txt'))
    const { files } = await rig.sendAndEnd()
    assert.deepEqual(
      files.map((file) => file.name),
      ['a.txt', 'b.txt'],
    )
  },
)

field('allowSendDuplicateFiles', 'true: it is', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig, { allowSendDuplicateFiles: true }))
  await rig.put('a.txt', 'same')
  assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
  await rm(join(rig.place.inbox, 'a.txt'))
  assert.equal((await rig.sendAndEnd()).state, 'COMPLETED')
  assert.deepEqual(await rig.inbox(), ['a.txt'])
})

field(
  'validationHashFiles',
  'a transfer completes only when the other end has the same SHA-256',
  async (t) => {
    for (const validationHashFiles of [true, false]) {
      const line = new Line({
        onPush: async (push) => ({ ...(await push()), remoteSha256: '0'.repeat(64) }),
      })
      const rig = await startRig(t, { transports: [line] })
      line.leadTo(rig)
      await rig.putContact({ id: 'acme', protocol: 'sftp' })
      await rig.putChannel(CODE, channelOf(rig, { validationHashFiles, connection: { ips: ['127.0.0.1'] } }))
      await rig.put('a.txt', 'a')
      const done = await rig.run().sendAndEnd()
      assert.equal(done.state, validationHashFiles ? 'FAILED' : 'COMPLETED')
      if (validationHashFiles) assert.equal(await rig.errorCode(done.id), 'hash_mismatch')
    }
  },
)
