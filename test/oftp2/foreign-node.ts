// A whole node and foreign partners of it, one for each test: they share the node and nothing else. What a partner says
// is spelled out by the test; here are the beginnings of sessions, which are the same in all of them.

import { mkdir, readFile, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { PlatformChannel, PlatformContact } from '../../src/contract/administration/platform-file.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import { readPlatform } from '../../src/platform/read.ts'
import { startTestNode, tempFolder, waitFor } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { ForeignLine, ForeignServer, x } from '../support/oftp2/foreign.ts'
import { freePort } from '../support/sftp/openssh.ts'
import type { RunningNode } from '../../src/main.ts'

export type Level = '1' | '2' | '4' | '5'
export const LEVELS = { '1.2': '1', '1.3': '2', '1.4': '4', '2.0': '5' } as const satisfies Record<
  string,
  Level
>
export const NODE_ID = 'O0013NODE'
export const CREDIT = 4
const PATIENCE_MS = 180_000

export type ForeignChannel = Omit<Partial<PlatformChannel>, 'code' | 'contact'>

/** SSID: level, code, password, buffer size, ways, compression, restart, special logic, credit, authentication, user. */
const ssid = (level: Level, id: string) =>
  `X${level}${x(id, 25)}${x('', 8)}02048BNYN00${CREDIT}${level === '5' ? 'N    ' : '     '}${x('', 8)}\r`

export class Foreign {
  readonly node: ForeignNode
  readonly server: ForeignServer
  readonly id: string
  readonly code: string

  constructor(node: ForeignNode, server: ForeignServer, name: string) {
    this.node = node
    this.server = server
    this.id = `O0013${name}`
    this.code = `NODE-${name}-FILES`
  }

  folder(way: 'in' | 'out'): string {
    return join(this.node.files, this.code, way)
  }

  /** Asks the node to send a file of that name. */
  async send(name: string, content: string): Promise<string> {
    const path = join(this.folder('out'), name)
    await writeFile(path, content)
    const then = Date.now() / 1000 - 60
    await utimes(path, then, then)
    const { status, text, body } = await this.node.call('sendTransfer', { code: this.code, as: 'admin' })
    if (status >= 300) throw new Error(`send on ${this.code}: ${status} ${text}`)
    return String(body.transferId)
  }

  /** The node calls; both ends have introduced themselves. */
  async called(level: Level): Promise<{ line: ForeignLine; ssid: string }> {
    const line = await this.server.next()
    line.say('IODETTE FTP READY \r')
    const theirs = (await line.expect('X')).toString('latin1')
    line.say(ssid(level, this.id))
    return { line, ssid: theirs }
  }

  /** This end calls; it has the turn. */
  async calls(t: TestContext, level: Level): Promise<{ line: ForeignLine; ssid: string }> {
    const line = await ForeignLine.call(t, this.node.port)
    await line.expect('I')
    line.say(ssid(level, this.id))
    return { line, ssid: (await line.expect('X')).toString('latin1') }
  }

  async ended(id: string) {
    const row = await waitFor(
      `the end of transfer ${id}`,
      async () => {
        const found = await this.transfer(id)
        return ['COMPLETED', 'FAILED', 'CANCELLED'].includes(found.state) ? found : undefined
      },
      PATIENCE_MS,
    )
    return row as NonNullable<typeof row>
  }

  transfer(id: string) {
    return this.node.store.db
      .selectFrom('transfer')
      .select(['state', 'error', 'error_code', 'receipts_until', 'due_at'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  }

  file(id: string) {
    return this.node.store.db
      .selectFrom('transfer_file')
      .selectAll()
      .where('transfer_id', '=', id)
      .executeTakeFirstOrThrow()
  }

  async arrived(name: string): Promise<Buffer> {
    const read = () => readFile(join(this.folder('in'), name)).catch(() => undefined)
    return (await waitFor(`${name} to arrive`, read, PATIENCE_MS)) as Buffer
  }

  received(): Promise<string[]> {
    return readdir(this.folder('in'))
  }

  async history(): Promise<{ event: string; detail: string | null }[]> {
    return this.node.store.db
      .selectFrom('history')
      .select(['event', 'detail'])
      .where('channel_code', '=', this.code)
      .orderBy('position')
      .execute()
  }

  owed() {
    return this.node.store.db
      .selectFrom('owed_receipt')
      .selectAll()
      .where('contact_id', '=', this.code.toLowerCase())
      .where('delivered_at', 'is', null)
      .execute()
  }
}

export type ForeignNode = TestNode &
  RunningNode & {
    port: number
    scripts: string
    relate(
      t: TestContext,
      channel?: ForeignChannel | ((foreign: Foreign) => ForeignChannel),
      oftp2?: PlatformContact['oftp2'],
    ): Promise<Foreign>
  }

/** `downloadConf` and whatever else of the transmission. */
export const awaiting = (more: object = {}): Pick<PlatformChannel, 'connection'> => ({
  connection: { ips: ['127.0.0.1'], advancedConfigurationTransmission: { downloadConf: true, ...more } },
})

export async function startForeignNode(
  t: TestContext,
  settings: Record<string, string> = {},
): Promise<ForeignNode> {
  const scripts = await tempFolder(t)
  const port = await freePort()
  const node = await startTestNode(t, {
    empty: true,
    settings: {
      ESCLUSA_OFTP2_PORT: String(port),
      ESCLUSA_WORKERS: '4',
      ESCLUSA_SCRIPT_ROOTS: scripts,
      ...settings,
    },
  })
  let partners = 0
  const made: ForeignNode = {
    ...node,
    port,
    scripts,
    async relate(inner, given = {}, oftp2 = {}) {
      partners += 1
      const foreign = new Foreign(made, await ForeignServer.listen(inner), `F${partners}`)
      const contact = {
        id: foreign.code.toLowerCase(),
        name: foreign.id,
        remoteCodes: [{ id: 'rc', code: `F${partners}` }],
        remoteIPs: [{ id: 'ip', ipAddress: '127.0.0.1', port: foreign.server.port }],
        protocol: 'oftp2',
        oftp2: { id: foreign.id, ...oftp2 },
      }
      const channel = typeof given === 'function' ? given(foreign) : given
      for (const way of ['in', 'out'] as const) await mkdir(foreign.folder(way), { recursive: true })
      const channels = [
        {
          code: foreign.code,
          contact: contact.id,
          direction: 'BIDIRECCIONAL',
          directories: [
            { direction: 'EMISION', filePath: foreign.folder('out') },
            { direction: 'RECEPCION', filePath: foreign.folder('in') },
          ],
          ...channel,
          connection: { ips: ['127.0.0.1'], ...channel.connection },
        },
      ]
      const path = join(node.dataDir, `${foreign.id}.yaml`)
      const localEntities = [{ code: 'NODE', name: 'Node', oftp2: { id: NODE_ID } }]
      await writeFile(path, JSON.stringify({ localEntities, contacts: [contact], channels }))
      const { platform } = readPlatform(path, { env: {}, roots: node.context.roots })
      await applyPlatform(node.store, node.context.seal, platform, { now: Date.now() })
      return foreign
    },
  }
  return made
}
