// The calling SFTP transport through the suite that every transport passes, against a real OpenSSH server.

import { mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { transportConformance } from '../support/transport-conformance.ts'
import type { ConformancePartner } from '../support/transport-conformance.ts'
import { isPlainName } from '../../src/engine/transports/sftp-client/settings.ts'
import { sftpClientTransport } from '../../src/engine/transports/sftp-client/sftp-client.ts'
import { sftpCall, signInTo } from '../support/sftp/call.ts'
import { noOpenSsh, startOpenSsh } from '../support/sftp/openssh.ts'
import type { OpenSsh } from '../support/sftp/openssh.ts'

let sshd: OpenSsh
let root: string

before(async () => {
  if (noOpenSsh) return
  sshd = await startOpenSsh()
  root = await mkdtemp(join(tmpdir(), 'esclusa-sftp-'))
})

after(async () => {
  if (noOpenSsh) return
  await sshd.stop()
  await rm(root, { recursive: true, force: true })
})

let partners = 0

async function setUp(): Promise<ConformancePartner> {
  const folder = join(root, `partner-${++partners}`)
  const [inbox, outbox] = [join(folder, 'inbox'), join(folder, 'outbox')]
  await mkdir(inbox, { recursive: true })
  await mkdir(outbox)
  const visible = async (hidden: boolean) =>
    (await readdir(inbox)).filter((name) => name.startsWith('.') === hidden)
  const transport = sftpClientTransport()
  return {
    lacks: [],
    connect: (host) => transport.connect(sftpCall(sshd.port, { ...signInTo(sshd), inbox, outbox }), host),
    received: async () => {
      const files = (await visible(false)).map(
        async (name) => [name, await readFile(join(inbox, name))] as const,
      )
      return new Map(await Promise.all(files))
    },
    partials: async () => (await visible(true)).length,
    occupy: (name, bytes) => writeFile(join(inbox, name), bytes),
    offer: async (name, bytes) => {
      await writeFile(join(outbox, name), bytes)
      await utimes(join(outbox, name), 1_700_000_000, 1_700_000_000)
    },
    offered: () => readdir(outbox),
    carries: isPlainName,
  }
}

transportConformance('sftp', setUp, { skip: noOpenSsh })
