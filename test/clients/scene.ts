// A node with one channel to a partner on the same file system, and a user who may change and use it: what a third-party
// system finds. Also where the generators and linters of others lie.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { Channel } from '../../src/contract/channel.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import { fromRoot } from '../../src/root.ts'
import { findChannel, openChannel } from '../../src/store/channels.ts'
import { startTestNode, tempFolder } from '../support/harness.ts'

export const run = promisify(execFile)
export const TOOLS = fromRoot('test/clients/node_modules').pathname

/** Why a test of theirs cannot run here. */
export const withoutTools = existsSync(join(TOOLS, '.package-lock.json'))
  ? undefined
  : 'SKIPPED: run `npm ci --ignore-scripts` in test/clients first'

export function isThere(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))
}

// Compiled for a long life, and collected by threads of its own, a Java program of a few seconds costs twice as much.
process.env.JAVA_TOOL_OPTIONS ??= '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'

export const withoutJava =
  isThere('java') && isThere('javac') ? undefined : 'SKIPPED: there is no JDK (java and javac) here'

export const CODE = 'BANCO-ACME-NOMINA'
export const USERNAME = 'integrator'
export const PASSWORD = 'a password of an integration'
const KEYS = { localKey: 'what we say', remoteKey: 'what they say' }

export async function startScene(t: TestContext) {
  const node = await startTestNode(t, { empty: true })
  const { files, context } = node
  const partner = await tempFolder(t)
  const [inbox, outbox, out] = [join(partner, 'in'), join(partner, 'out'), join(files, 'payroll', 'out')]
  for (const folder of [inbox, outbox, out]) await mkdir(folder, { recursive: true })
  const channel = (code: string, name: string) => ({
    code,
    contact: 'acme',
    name,
    direction: 'EMISION' as const,
    category: 'PAYROLL',
    directories: [{ direction: 'EMISION' as const, filePath: out }],
    security: KEYS,
  })
  await applyPlatform(
    context.store,
    context.seal,
    {
      localEntities: [{ code: 'BANCO', name: 'Banco Azul' }],
      users: [
        {
          username: USERNAME,
          email: 'integrator@banco.example',
          password: PASSWORD,
          role: 'ROLE_ADVOPERATOR',
        },
      ],
      contacts: [
        {
          id: 'acme',
          name: 'Acme SA',
          remoteCodes: [{ id: 'rc1', code: 'ACME', name: 'Acme main' }],
          protocol: 'folder',
          folder: { inbox, outbox },
        },
      ],
      channels: [channel(CODE, 'Payroll'), channel('BANCO-ACME-FACTURA', 'Invoices')],
    },
    { now: Date.now() },
  )
  return {
    node,
    url: node.url,
    inbox,
    /** A file to send, old enough to count as written. */
    put: async (name: string) => {
      const path = join(out, name)
      await writeFile(path, name)
      await utimes(path, 1_700_000_000, 1_700_000_000)
    },
    /** As it is kept, keys included. */
    channel: async (): Promise<Channel> => {
      const record = await findChannel(node.store.db, CODE)
      return record ? openChannel(context.seal, record) : {}
    },
  }
}
