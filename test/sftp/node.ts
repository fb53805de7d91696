// A whole node and one SFTP partner, in either role: what the platform file says, folders, transfers as rows.

import { mkdir, readFile, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { RunningNode } from '../../src/main.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import { readPlatform } from '../../src/platform/read.ts'
import type { PlatformChannel, PlatformContact } from '../../src/contract/administration/platform-file.ts'
import { startTestNode, tempFolder, waitFor } from '../support/harness.ts'
import type { TestDatabase, TestNode } from '../support/harness.ts'

export const CODE = 'BANCO-ACME-NOMINA'
const PATIENCE_MS = 180_000

export type SftpNode = {
  node: TestNode & RunningNode
  files: string
  /** Adds to the platform, or changes it. */
  apply(partner: Partial<PlatformContact>, channel?: Partial<PlatformChannel>): Promise<void>
  put(name: string, bytes: Buffer | string): Promise<void>
  send(): Promise<string>
  ended(
    id: string,
  ): Promise<{ state: string; error: string | null; error_code: string | null; attempts: number }>
  arrived(name: string): Promise<Buffer>
  list(folder: string): Promise<string[]>
  /** Direction and state of every transfer. */
  transfers(): Promise<string[]>
}

export async function startSftpNode(
  t: TestContext,
  settings: Record<string, string> = {},
  dataDir?: string,
  database?: TestDatabase,
): Promise<SftpNode> {
  const own = dataDir ?? (await tempFolder(t))
  const node = await startTestNode(t, {
    empty: true,
    settings: { ESCLUSA_DATA_DIR: own, ...settings },
    ...(database && { database }),
  })
  const { files } = node
  for (const folder of ['out', 'in', 'sent']) await mkdir(join(files, folder), { recursive: true })
  const { db } = node.store
  return {
    node,
    files,
    apply: (partner, channel) => apply(node, partner, channel),
    put: async (name, bytes) => {
      const path = join(files, 'out', name)
      await writeFile(path, bytes)
      const then = Date.now() / 1000 - 60
      await utimes(path, then, then)
    },
    send: async () => {
      const { status, text, body } = await node.call('sendTransfer', { code: CODE, as: 'admin' })
      if (status >= 300) throw new Error(`send: ${status} ${text}`)
      return String(body.transferId)
    },
    ended: async (id) => {
      const columns = ['state', 'error', 'error_code', 'attempts'] as const
      const look = async () => {
        const row = await db
          .selectFrom('transfer')
          .select(columns)
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
        return ['COMPLETED', 'FAILED', 'CANCELLED'].includes(row.state) ? row : undefined
      }
      return (await waitFor(`the end of ${id}`, look, PATIENCE_MS)) as NonNullable<
        Awaited<ReturnType<typeof look>>
      >
    },
    arrived: async (name) => {
      const look = () => readFile(join(files, 'in', name)).catch(() => undefined)
      return (await waitFor(`${name} to arrive`, look, PATIENCE_MS)) as Buffer
    },
    list: async (folder) => (await readdir(join(files, folder))).sort(),
    transfers: async () => {
      const rows = await db.selectFrom('transfer').select(['direction', 'state']).orderBy('id').execute()
      return rows.map((row) => `${row.direction} ${row.state}`)
    },
  }
}

async function apply(
  { context, dataDir, files }: TestNode,
  partner: Partial<PlatformContact>,
  channel: Partial<PlatformChannel> = {},
): Promise<void> {
  const file = join(dataDir, 'platform.yaml')
  const platform = {
    localEntities: [{ code: 'BANCO', name: 'Banco Azul' }],
    contacts: [
      { id: 'acme', name: 'Acme', remoteCodes: [{ id: 'rc', code: 'ACME' }], protocol: 'sftp', ...partner },
    ],
    channels: [
      {
        code: CODE,
        contact: 'acme',
        direction: 'BIDIRECCIONAL',
        directories: [
          { direction: 'EMISION', filePath: join(files, 'out') },
          { direction: 'RECEPCION', filePath: join(files, 'in') },
        ],
        ...channel,
      },
    ],
  }
  await writeFile(file, JSON.stringify(platform))
  const read = readPlatform(file, { env: {}, roots: context.roots })
  await applyPlatform(context.store, context.seal, read.platform, { now: Date.now() })
}
