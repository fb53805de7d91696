// `encryption` of a transfer: true when a file of it was encrypted on its way, by the session or by itself; both ways.

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import { encryptBuffer } from '../../src/engine/transforms/cms/messages.ts'
import { NodeError } from '../../src/errors.ts'
import { makeTestKey } from '../support/cms-keys.ts'
import type { TestKey } from '../support/cms-keys.ts'
import { Line } from './line.ts'
import { CODE, channelOf, runningRig, startRig } from './rig.ts'
import type { Rig } from './rig.ts'

let ours: TestKey
let theirs: TestKey
before(async () => {
  ours = await makeTestKey('ours')
  theirs = await makeTestKey('theirs')
})

function filesEncrypted(rig: Rig, more: Channel = {}): Channel {
  const keys = {
    rsaLocalKey: `${ours.privateKeyPem}\n${ours.certificatePem}`,
    rsaRemoteKey: theirs.certificatePem,
  }
  return channelOf(rig, { ...more, security: { cryptography: true, ciphrate: 'FILE', ...keys } })
}

test('a file that came encrypted over a plain line makes its reception an encrypted one', async (t) => {
  const rig = await runningRig(t, (rig) => filesEncrypted(rig))
  const forUs = { certificateOrPublicKeyPem: ours.certificatePem, cipher: 'AES-256-CBC' } as const
  await rig.offer('a.txt', await encryptBuffer(Buffer.from('for us'), forUs))
  await rig.fetch()
  const received = await rig.lastReception()
  assert.deepEqual([received.state, received.encryption], ['COMPLETED', true])
  await rig.offer('plain.txt', 'not encrypted')
  await rig.fetch()
  const refused = await rig.lastReception()
  assert.deepEqual([refused.state, refused.encryption], ['FAILED', false])
})

test('a file that came in clear leaves it false', async (t) => {
  const rig = await runningRig(t, (rig) => channelOf(rig, {}))
  await rig.offer('a.txt', 'in clear')
  await rig.fetch()
  const received = await rig.lastReception()
  assert.deepEqual([received.state, received.encryption], ['COMPLETED', false])
})

async function lineRig(
  t: TestContext,
  channel: (rig: Rig) => Channel | Promise<Channel>,
  line = new Line({}),
) {
  const rig = await startRig(t, { transports: [line] })
  line.leadTo(rig)
  await rig.putContact({ id: 'acme', protocol: line.protocol as 'sftp' })
  await rig.putChannel(CODE, { ...(await channel(rig)), connection: { ips: ['127.0.0.1'] } })
  await rig.put('a.txt', 'a file')
  return { rig: rig.run(), line }
}

test('a send that failed before anything went leaves it false, though the session was encrypted', async (t) => {
  const { rig } = await lineRig(t, async (rig) =>
    filesEncrypted(rig, { integrations: { preEmisionFile: await rig.script('no.sh', 'exit 1') } }),
  )
  const failed = await rig.sendAndEnd()
  assert.deepEqual([failed.state, failed.encryption], ['FAILED', false])
  assert.equal(await rig.errorCode(failed.id), 'script_failed')
})

test('a file refused before its first octet leaves it false; one that broke off on its way does not', async (t) => {
  for (const [octets, encryption] of [
    [0, false],
    [3, true],
  ] as const) {
    const line = new Line({
      onPush: (_push, file, progress) => {
        if (octets > 0) progress.moved(file.restartFrom + octets)
        return Promise.reject(new NodeError('remote_refused', `refused after ${octets} octets`))
      },
    })
    const { rig } = await lineRig(t, (rig) => channelOf(rig, {}), line)
    const failed = await rig.sendAndEnd()
    assert.equal(failed.state, 'FAILED')
    assert.equal(failed.encryption, encryption, `after ${octets} octets`)
  }
})

test('an empty file sent over an encrypted session makes it true', async (t) => {
  const { rig } = await lineRig(t, (rig) => channelOf(rig, {}))
  await rig.put('a.txt', '')
  const done = await rig.sendAndEnd()
  assert.deepEqual([done.state, done.encryption], ['COMPLETED', true])
})
