// The SFTP client in the conformance suite, against a real OpenSSH server.

import { mkdir, readFile, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before } from 'node:test'
import type { TestContext } from 'node:test'
import { transportConformance } from '../support/transport-conformance.ts'
import type { ConformancePartner } from '../support/transport-conformance.ts'
import { isPlainName } from '../../src/engine/transports/sftp-client/settings.ts'
import { sftpClientTransport } from '../../src/engine/transports/sftp-client/sftp-client.ts'
import { noOpenSsh, startOpenSsh } from '../support/sftp/openssh.ts'
import type { OpenSsh } from '../support/sftp/openssh.ts'
import { tempFolder } from '../support/harness.ts'
import { callOf } from './wire.ts'

let sshd: OpenSsh | undefined
before(async () => {
  if (!noOpenSsh) sshd = await startOpenSsh()
})
after(() => sshd?.stop())

async function sftpPartner(t: TestContext): Promise<ConformancePartner> {
  const root = await tempFolder(t)
  const [inbox, outbox] = [join(root, 'inbox'), join(root, 'outbox')]
  await mkdir(inbox)
  await mkdir(outbox)
  const server = sshd
  if (!server) throw new Error('no OpenSSH server')
  const settings = {
    username: server.username,
    privateKey: server.userKey.private,
    hostKeys: [server.hostKey.fingerprint],
    inbox,
    outbox,
  }
  const timeouts = { connectMs: 5000, syncMs: 5000, ackMs: 5000, idleMs: 60_000 }
  return {
    lacks: [],
    connect: (host) =>
      sftpClientTransport().connect({ ...callOf({ port: server.port, timeouts }), settings }, host),
    received: async () => {
      const names = (await readdir(inbox)).filter((name) => !name.startsWith('.'))
      return new Map(
        await Promise.all(names.map(async (name) => [name, await readFile(join(inbox, name))] as const)),
      )
    },
    partials: async () => (await readdir(inbox)).filter((name) => name.startsWith('.')).length,
    occupy: (name, bytes) => writeFile(join(inbox, name), bytes),
    offer: async (name, bytes) => {
      await writeFile(join(outbox, name), bytes)
      await utimes(join(outbox, name), 1_700_000_000, 1_700_000_000)
    },
    offered: () => readdir(outbox),
    carries: isPlainName,
  }
}

transportConformance('sftp', sftpPartner, { skip: noOpenSsh })
