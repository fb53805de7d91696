// The test of a connection, against real ends: OpenSSH, and this node's own listeners. Each step is named that fails, with
// what to do; nothing is sent, and nothing is left.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ConnectionTest } from '../../src/contract/administration/connection-test.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import type { PlatformChannel, PlatformContact } from '../../src/contract/administration/platform-file.ts'
import { makeIdentity } from '../oftp2/pair.ts'
import { callPlatform } from '../support/call.ts'
import { closeAfter, startTestNode, tempFolder, waitFor } from '../support/harness.ts'
import { freePort, makeKey, noOpenSsh, startOpenSsh } from '../support/sftp/openssh.ts'

const outcomes = ({ ways }: ConnectionTest) =>
  ways.map(({ steps }) => steps.map(({ step, outcome }) => `${step} ${outcome}`).join(', '))

test(
  'what a call would meet is told step by step, and nothing is left of it',
  { skip: noOpenSsh },
  async (t) => {
    const dataDir = await tempFolder(t)
    const own = await makeIdentity('listener')
    const other = await makeIdentity('another')
    await writeFile(join(dataDir, 'oftp2-tls.pem'), own.identity, { mode: 0o600 })
    const [tlsPort, closedPort] = [await freePort(), await freePort()]
    const sshd = await startOpenSsh()
    closeAfter(t, () => sshd.stop())
    const node = await startTestNode(t, {
      empty: true,
      settings: { ESCLUSA_DATA_DIR: dataDir, ESCLUSA_OFTP2_TLS_PORT: String(tlsPort) },
    })
    const folders = join(node.files, 'partner')
    for (const name of ['in', 'out']) await mkdir(join(folders, name), { recursive: true })
    const stranger = await makeKey(dataDir, 'stranger')

    // A server that takes connections and says nothing.
    const held: Socket[] = []
    const silent = createServer((socket) => void held.push(socket.on('error', () => {}))).listen(
      0,
      '127.0.0.1',
    )
    await once(silent, 'listening')
    closeAfter(t, async () => void silent.close())

    const at = (port: number) => [{ id: '1', ipAddress: '127.0.0.1', port }]
    const contact = (id: string, rest: Partial<PlatformContact>): PlatformContact => ({
      id,
      remoteCodes: [{ id: '1', code: id.toUpperCase().replace('-', '.') }],
      ...rest,
    })
    const oftp2 = (id: string, port: number, calls: string) =>
      contact(id, { protocol: 'oftp2', remoteIPs: at(port), oftp2: { id: calls } })
    const sftp = (id: string, rest: Partial<NonNullable<PlatformContact['sftp']>>) =>
      contact(id, {
        protocol: 'sftp',
        remoteIPs: at(sshd.port),
        sftp: {
          username: sshd.username,
          privateKey: sshd.userKey.private,
          hostKeys: [sshd.hostKey.fingerprint],
          inbox: join(folders, 'in'),
          outbox: join(folders, 'out'),
          ...rest,
        },
      })
    const secure = (
      localKey: string,
      remoteKey: string,
      pinned: string,
    ): NonNullable<PlatformChannel['security']> => ({
      cryptography: true,
      ciphrate: 'TRANSMISION',
      authentication: 'PASSWORD',
      localKey,
      remoteKey,
      rsaRemoteKey: pinned,
      rsaLocalKey: other.identity,
    })
    const channel = (
      code: string,
      contactId: string,
      rest: Partial<PlatformChannel> = {},
    ): PlatformChannel => ({
      code,
      contact: contactId,
      direction: 'BIDIRECCIONAL',
      directories: [{ direction: 'EMISION', filePath: join(node.files, 'send') }],
      ...rest,
    })
    await applyPlatform(
      node.context.store,
      node.context.seal,
      {
        localEntities: [
          { code: 'US', name: 'Us', oftp2: { id: 'O0013US' } },
          { code: 'THEM', name: 'Them', oftp2: { id: 'O0013THEM' } },
        ],
        contacts: [
          // The node calls itself: as US it calls THEM, where US is the contact that calls.
          oftp2('them', tlsPort, 'O0013THEM'),
          oftp2('us', tlsPort, 'O0013US'),
          oftp2('badpass', tlsPort, 'O0013BADPASS'),
          oftp2('badcert', tlsPort, 'O0013BADCERT'),
          oftp2('gone', closedPort, 'O0013GONE'),
          oftp2('silent', (silent.address() as AddressInfo).port, 'O0013SILENT'),
          oftp2('bare', tlsPort, 'O0013BARE'),
          sftp('ssh', {}),
          sftp('ssh-key', { hostKeys: [stranger.fingerprint] }),
          sftp('ssh-login', { privateKey: stranger.private }),
          sftp('ssh-rights', { inbox: join(folders, 'nowhere') }),
          contact('folder', {
            protocol: 'folder',
            folder: { inbox: join(folders, 'in'), outbox: join(folders, 'nowhere') },
          }),
        ],
        channels: [
          channel('US-THEM-A', 'them', { security: secure('PASSUS', 'PASSTHEM', own.certificate) }),
          channel('THEM-US-A', 'us', {
            security: secure('PASSTHEM', 'PASSUS', other.certificate),
            connection: { advancedConfigurationConnection: { callingEnd: 'REMOTO' } },
          }),
          channel('US-BADPASS-A', 'badpass', { security: secure('WRONG', 'PASSTHEM', own.certificate) }),
          channel('US-BADCERT-A', 'badcert', { security: secure('PASSUS', 'PASSTHEM', other.certificate) }),
          channel('US-GONE-A', 'gone', { security: secure('PASSUS', 'PASSTHEM', own.certificate) }),
          channel('US-SILENT-A', 'silent'),
          channel('US-SSH-A', 'ssh'),
          channel('US-SSH-B', 'ssh'),
          channel('US-SSH.KEY-A', 'ssh-key'),
          channel('US-SSH.LOGIN-A', 'ssh-login'),
          channel('US-SSH.RIGHTS-A', 'ssh-rights'),
          channel('US-FOLDER-A', 'folder'),
        ],
      },
      { now: Date.now() },
    )
    const ask = (contactId: string) => callPlatform(node, 'testContact', 'admin', { params: { contactId } })
    const tested = async (contactId: string): Promise<ConnectionTest> => {
      const answer = await ask(contactId)
      assert.equal(answer.status, 200, answer.text)
      return answer.body
    }
    const failed = ({ ok, ways }: ConnectionTest) => {
      assert.equal(ok, false)
      const found = ways.flatMap(({ steps }) => steps).find(({ outcome }) => outcome === 'FAILED')
      assert.ok(found?.seen)
      return `${found.step} ${found.advice}`
    }

    const good = await tested('them')
    assert.deepEqual(outcomes(good), ['RESOLVE OK, TCP OK, TLS OK, LOGIN OK'], JSON.stringify(good))
    assert.equal(good.ok, true)
    const [way] = good.ways
    assert.deepEqual(way?.channels, ['US-THEM-A'])
    assert.equal(way?.address, `127.0.0.1:${tlsPort}`)
    assert.equal(way?.certificate?.pinned, true)
    assert.match(way?.certificate?.subject ?? '', /CN=listener/)
    assert.ok((way?.certificate?.daysLeft ?? 0) >= 28)

    assert.equal(failed(await tested('badpass')), 'LOGIN CHECK_LOGIN')
    const unpinned = await tested('badcert')
    assert.equal(failed(unpinned), 'TLS CHECK_CERTIFICATE')
    assert.equal(unpinned.ways[0]?.certificate?.pinned, false)
    assert.deepEqual(outcomes(unpinned), ['RESOLVE OK, TCP OK, TLS FAILED, LOGIN SKIPPED'])
    assert.equal(failed(await tested('gone')), 'TCP CHECK_ADDRESS')
    assert.deepEqual(outcomes(await tested('bare')), ['RESOLVE OK, TCP OK, TLS SKIPPED, LOGIN SKIPPED'])

    const overSsh = await tested('ssh')
    assert.deepEqual(
      outcomes(overSsh),
      ['RESOLVE OK, TCP OK, HOST_KEY OK, LOGIN OK, RIGHTS OK, RIGHTS OK'],
      JSON.stringify(overSsh),
    )
    assert.deepEqual(overSsh.ways[0]?.channels, ['US-SSH-A', 'US-SSH-B'], 'called alike, tested once')
    assert.ok(overSsh.ways[0]?.hostKey?.includes(sshd.hostKey.fingerprint))
    const strange = await tested('ssh-key')
    assert.equal(failed(strange), 'HOST_KEY CHECK_HOST_KEY')
    assert.ok(JSON.stringify(strange).includes(sshd.hostKey.fingerprint), 'what it showed, to be compared')
    assert.equal(failed(await tested('ssh-login')), 'LOGIN CHECK_LOGIN')
    assert.equal(failed(await tested('ssh-rights')), 'RIGHTS CHECK_RIGHTS')
    assert.equal(failed(await tested('folder')), 'RIGHTS CHECK_RIGHTS')
    assert.equal((await ask('nobody')).status, 404)

    const first = ask('silent')
    // TCP, and then the login, which waits for a word.
    await waitFor('the call to the silent server', () => held.length === 2)
    assert.equal((await ask('silent')).status, 409)
    for (const socket of held) socket.destroy()
    assert.equal(failed((await first).body), 'LOGIN CHECK_LOGIN')

    for (const name of ['in', 'out']) assert.deepEqual(await readdir(join(folders, name)), [])
    assert.deepEqual(await node.store.db.selectFrom('transfer').select('id').execute(), [])
    const entries = await node.store.db
      .selectFrom('audit')
      .select('detail')
      .where('action', '=', 'CONTACT_TESTED')
      .execute()
    assert.equal(entries.length, 11)
    assert.ok(entries.every(({ detail }) => !detail?.includes('PASSUS')))
  },
)
