// SFTP with the SSH library and Node's sockets as they come, in both roles: because the settings say so, and because one
// of them is not what it was taken to be, which the log then says. Whole nodes; the one looked at is a process.

import assert from 'node:assert/strict'
import { mkdir, readFile, rename, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { PlatformContact } from '../../src/contract/administration/platform-file.ts'
import { fingerprintOf, readPrivateKey } from '../../src/engine/transports/ssh/keys.ts'
import { NodeProcess } from '../crash/node-process.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'
import { putListenerKeys } from '../support/rsa-key.ts'
import { commandExists, freePort, makeKey } from '../support/sftp/openssh.ts'
import type { KeyPair } from '../support/sftp/openssh.ts'
import { sampleBytes } from '../support/transport-ends.ts'
import { startSftpNode } from './node.ts'
import type { SftpNode } from './node.ts'

const skip = commandExists('ssh-keygen') ? false : 'ssh-keygen is not installed'
const OTHERWISE = `--import=${new URL('otherwise.ts', import.meta.url).pathname}`

type Case = { settings: Record<string, string>; says: RegExp[] }

const CASES: Record<string, Case> = {
  'the settings say so': {
    settings: { ESCLUSA_SSH_PACKET_MEMORY: 'off', ESCLUSA_SSH_SOCKET_MEMORY: 'off' },
    says: [],
  },
  'another ssh2 writes its packets later': {
    settings: { NODE_OPTIONS: OTHERWISE, SSH_OTHERWISE: 'ciphers' },
    says: [/the SSH library as it comes.*not written in the turn.*ESCLUSA_SSH_PACKET_MEMORY=off/],
  },
  'another Node has other sockets': {
    settings: { NODE_OPTIONS: OTHERWISE, SSH_OTHERWISE: 'sockets', ESCLUSA_OFTP2_PORT: '0' },
    says: [
      /OFTP2 callers keep the sockets that Node gives them.*other names inside/,
      /SFTP callers keep the sockets that Node gives them.*other names inside.*ESCLUSA_SSH_SOCKET_MEMORY=off/,
    ],
  },
}

type Place = { dataDir: string; port: number; hostKey: string; settings: Record<string, string> }

async function makePlace(t: TestContext): Promise<Place> {
  const dataDir = await tempFolder(t)
  const port = await freePort()
  const settings = { ESCLUSA_SFTP_PORT: String(port) }
  await putListenerKeys(dataDir, settings)
  const pem = await readFile(join(dataDir, 'sftp-host-key.pem'), 'utf8')
  const hostKey = fingerprintOf(readPrivateKey(pem, undefined).getPublicSSH())
  return { dataDir, port, hostKey, settings }
}

/** The channel where this node is called, or where it calls; each has folders of its own. */
async function applyOne(node: SftpNode, name: string, partner: Partial<PlatformContact>): Promise<void> {
  const folder = join(node.files, name)
  for (const way of ['out', 'in']) await mkdir(join(folder, way), { recursive: true })
  const id = name.toLowerCase()
  await node.apply(
    { id, name, remoteCodes: [{ id: 'rc', code: name }], ...partner },
    {
      code: `BANCO-${name}-NOMINA`,
      contact: id,
      automation: { watch: true },
      directories: [
        { direction: 'EMISION', filePath: join(folder, 'out') },
        { direction: 'RECEPCION', filePath: join(folder, 'in') },
      ],
      ...(partner.remoteIPs && { connection: { ips: ['127.0.0.1'] } }),
    },
  )
}

function applyCalled(node: SftpNode, key: KeyPair): Promise<void> {
  return applyOne(node, 'CALLED', { access: { username: 'calls', authorizedKeys: [key.public] } })
}

function applyCalls(node: SftpNode, { hostKey, port }: Place, key: KeyPair): Promise<void> {
  const sftp = {
    username: 'calls',
    privateKey: key.private,
    hostKeys: [hostKey],
    inbox: '/{application}/in',
    outbox: '/{application}/out',
  }
  return applyOne(node, 'CALLS', { sftp, remoteIPs: [{ id: 'ip', ipAddress: '127.0.0.1', port }] })
}

/** Whole at once and a minute old: the automation takes it at its next look. */
async function offer(files: string, channel: string, bytes: Buffer): Promise<void> {
  const making = join(files, channel, 'making')
  await writeFile(making, bytes)
  const then = Date.now() / 1000 - 60
  await utimes(making, then, then)
  await rename(making, join(files, channel, 'out', 'file.bin'))
}

for (const [why, { settings, says }] of Object.entries(CASES))
  test(`files go both ways, calling and called, when ${why}`, { skip }, async (t) => {
    const key = await makeKey(await tempFolder(t), 'both')
    const [here, there] = [await makePlace(t), await makePlace(t)]
    const near = await startSftpNode(t, here.settings, here.dataDir)
    await applyCalled(near, key)
    const prepared = await startSftpNode(t, {}, there.dataDir)
    await applyCalled(prepared, key)
    await applyCalls(prepared, here, key)
    await prepared.node.stop()
    const far = await NodeProcess.start({
      ESCLUSA_DATA_DIR: there.dataDir,
      ESCLUSA_PORT: '0',
      ESCLUSA_LOG_LEVEL: 'warn',
      ...there.settings,
      ...settings,
    })
    closeAfter(t, () => far.stop())
    // Not before: a call to a node that is not there is tried again later.
    await applyCalls(near, there, key)

    const ways: [from: string, channel: string, to: string, channel: string][] = [
      [near.files, 'CALLS', prepared.files, 'CALLED'],
      [near.files, 'CALLED', prepared.files, 'CALLS'],
      [prepared.files, 'CALLS', near.files, 'CALLED'],
      [prepared.files, 'CALLED', near.files, 'CALLS'],
    ]
    const sent = ways.map((_, seed) => sampleBytes(1_500_000 + seed, seed))
    await Promise.all(ways.map(([files, channel], at) => offer(files, channel, sent[at] ?? Buffer.alloc(0))))
    for (const [at, [, , files, channel]] of ways.entries()) {
      const path = join(files, channel, 'in', 'file.bin')
      const look = () => readFile(path).catch(() => undefined)
      const arrived = await waitFor(`${path}\n${far.lines.join('\n')}`, look, 60_000)
      assert.ok(arrived?.equals(sent[at] ?? Buffer.alloc(0)), `way ${at}`)
    }
    const notes = far.lines.filter((line) => /ESCLUSA_SSH|callers keep/.test(line))
    assert.equal(notes.length, says.length, notes.join('\n'))
    for (const [at, pattern] of says.entries()) assert.match(notes[at] ?? '', pattern)
  })
