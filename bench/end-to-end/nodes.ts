// Whole nodes, each a process of its own as users run them, with a partner at the other end: another node over OFTP2
// with TLS, an OpenSSH server over SFTP, or a folder. `send` asks as a system would, and resolves when the transfer is
// COMPLETED: by then every file is durable, in place and recorded at both ends.

import { readFileSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Channel } from '../../src/contract/channel.ts'
import { BASE_PATH } from '../../src/contract/operations.ts'
import type { Platform, PlatformContact } from '../../src/contract/administration/platform-file.ts'
import { cpuMicros } from '../cpu-time.ts'
import { NodeProcess, esclusa } from '../../test/crash/node-process.ts'
import { freePort } from '../../test/support/sftp/openssh.ts'
import type { OpenSsh } from '../../test/support/sftp/openssh.ts'

const SECRET = 'for benchmarks alone '.repeat(4)
/** Rarely enough that asking costs the node next to nothing. */
const POLL_MS = 50

export type Scene = {
  /** Files to send lie here; those of channel `number`, where there are several. */
  out(number?: number): string
  /** Here they arrive. */
  inbox(number?: number): string
  /** Sends what lies in `out` of every channel and resolves when all of it is COMPLETED. */
  send(): Promise<void>
  status(): Promise<void>
  /** Another partner of the sending node, with one channel: a folder. */
  near: { put(bytes: Buffer): Promise<void>; send(): Promise<void> }
  /** Where its nodes have their databases, and which of their channels is used. */
  databases: readonly { dataDir: string; channel: string }[]
  /** Of its nodes, the sending ones first. */
  pids: readonly number[]
  /** Resident memory of all its nodes, all threads, in MiB. */
  residentMib(): number
  /** User and system time so far: of the nodes that send, and of the one at the other end. */
  cpuMicros(): { sending: number; receiving: number }
  /** What arrived is moved away, not removed: end-to-end.ts says why. */
  empty(): Promise<void>
  stop(): Promise<void>
}

export type SceneOptions = {
  root: string
  channels?: number
  channel?: Channel
  /** The database of the sending nodes, and how many of them there are. */
  databaseUrl?: string
  senders?: number
  /** Between the two ends: the port that is called instead of the partner's own. */
  between?: (port: number) => Promise<number>
  /** How many OFTP2 sessions there may be at once; without it the node decides. */
  sessions?: number
  /** How often `send` asks whether it is done. */
  pollMs?: number
}

class Node {
  readonly process: NodeProcess
  readonly token: string
  constructor(node: NodeProcess, token: string) {
    this.process = node
    this.token = token
  }

  static async start(folder: string, platform: Platform, settings: Record<string, string>): Promise<Node> {
    await mkdir(folder, { recursive: true })
    const all = {
      ESCLUSA_DATA_DIR: join(folder, 'data'),
      ESCLUSA_FILE_ROOTS: join(folder, 'files'),
      ESCLUSA_PORT: '0',
      ESCLUSA_LOG_LEVEL: 'error',
      ...(process.env.ESCLUSA_BENCH_NODE_OPTIONS && { NODE_OPTIONS: process.env.ESCLUSA_BENCH_NODE_OPTIONS }),
      ...settings,
    }
    await mkdir(join(folder, 'files'), { recursive: true })
    const file = join(folder, 'platform.yaml')
    await writeFile(file, stringify(platform), { mode: 0o600 })
    await esclusa(all, 'apply', file)
    const token = (await esclusa(all, 'token', 'create', '--user', 'bench')).trim()
    return new Node(await NodeProcess.start(all), token)
  }

  async call(method: string, path: string): Promise<unknown> {
    const response = await fetch(`${this.process.url}${BASE_PATH}/integration/v2/channels/${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}` },
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }

  async begin(code: string): Promise<void> {
    await this.call('POST', `${code}/transfers/send`)
  }

  async untilIdle(code: string, pollMs = POLL_MS): Promise<void> {
    for (;;) {
      const [now] = (await this.call('GET', `${code}/status`)) as { 'channel-status': string }[]
      const status = now?.['channel-status']
      if (status === 'IDLE') return
      if (status !== 'PENDING' && status !== 'IN_PROGRESS')
        throw new Error(
          `${code} is ${status}: ${JSON.stringify(await this.call('GET', `${code}/transfers?page=1&size=1`)).slice(0, 500)}`,
        )
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }
}

const codeOf = (number: number) => `BANCO-ACME-F${number}`

function platformOf(contacts: PlatformContact[], channels: Platform['channels']): Platform {
  return {
    localEntities: [
      { code: 'BANCO', name: 'Banco' },
      { code: 'ACME', name: 'Acme' },
    ],
    users: [{ username: 'bench', email: 'bench@banco.example', role: 'ROLE_GLOBALADMIN' }],
    contacts,
    channels,
  }
}

/** A folder that another partner takes its files from. */
function nearIn(root: string) {
  const at = (path: string) => join(root, path)
  const [out, inbox, outbox] = [at('banco/files/near'), at('near/inbox'), at('near/outbox')]
  const contact: PlatformContact = {
    id: 'near',
    remoteCodes: [{ code: 'NEAR' }],
    protocol: 'folder',
    folder: { inbox, outbox },
  }
  const channel = {
    code: 'BANCO-NEAR-F0',
    contact: contact.id,
    direction: 'EMISION' as const,
    directories: [{ direction: 'EMISION' as const, filePath: out }],
    allowSendDuplicateFiles: true,
  }
  return { contact, channel, out, inbox, outbox }
}

/** One or more sending nodes in front of a partner. */
async function sendingTo(
  contact: PlatformContact,
  { root, channels = 1, channel = {}, databaseUrl, senders = 1, pollMs }: SceneOptions,
  inbox: (number: number) => string,
  partner?: { process: NodeProcess; dataDir: string; channel: string },
): Promise<Scene> {
  const home = join(root, 'banco')
  const out = (number = 0) => join(home, 'files', 'out', String(number))
  const numbers = Array.from({ length: channels }, (_, number) => number)
  for (const number of numbers)
    for (const folder of [out(number), inbox(number)]) await mkdir(folder, { recursive: true })
  const near = nearIn(root)
  const platform = platformOf(
    [contact, near.contact],
    [
      ...numbers.map((number) => ({
        code: codeOf(number),
        contact: contact.id,
        direction: 'EMISION' as const,
        directories: [{ direction: 'EMISION' as const, filePath: out(number) }],
        allowSendDuplicateFiles: true,
        ...channel,
      })),
      near.channel,
    ],
  )
  // Nodes that share a database open the same secrets.
  const settings: Record<string, string> = databaseUrl
    ? { ESCLUSA_DATABASE_URL: databaseUrl, ESCLUSA_MASTER_KEY: SECRET, ESCLUSA_JWT_SECRET: SECRET }
    : {}
  const nodes: Node[] = []
  for (let made = 0; made < senders; made++) {
    if (made > 0) settings.ESCLUSA_DATA_DIR = join(home, `data-${made}`)
    nodes.push(await Node.start(home, platform, settings))
  }
  const nodeFor = (number: number) => nodes[number % nodes.length] as Node
  let takings = 0
  const processes = [...nodes.map((node) => node.process), ...(partner ? [partner.process] : [])]
  return {
    out,
    inbox: (number = 0) => inbox(number),
    databases: [{ dataDir: join(home, 'data'), channel: codeOf(0) }, ...(partner ? [partner] : [])],
    send: async () => {
      await Promise.all(numbers.map((number) => nodeFor(number).begin(codeOf(number))))
      // One after the other: to ask for all of them at once would cost a node more than their files.
      for (const number of numbers) await nodeFor(number).untilIdle(codeOf(number), pollMs)
    },
    near: {
      put: async (bytes) => {
        for (const folder of [near.out, near.inbox, near.outbox]) {
          await rm(folder, { recursive: true, force: true })
          await mkdir(folder, { recursive: true })
        }
        await writeFile(join(near.out, 'near.bin'), bytes)
      },
      send: async () => {
        await nodeFor(0).begin(near.channel.code)
        await nodeFor(0).untilIdle(near.channel.code, 10)
      },
    },
    pids: processes.map(({ pid }) => pid),
    status: async () => void (await nodeFor(0).call('GET', `${codeOf(0)}/status`)),
    cpuMicros: () => ({
      sending: nodes.reduce((sum, node) => sum + cpuMicros(node.process.pid), 0),
      receiving: partner ? cpuMicros(partner.process.pid) : 0,
    }),
    residentMib: () => processes.reduce((sum, { pid }) => sum + residentMib(pid), 0),
    empty: async () => {
      for (const number of numbers) {
        const taken = join(root, `taken-${takings++}`)
        await rename(inbox(number), taken)
        await mkdir(inbox(number))
      }
    },
    stop: async () => {
      for (const one of processes) await one.stop()
    },
  }
}

function residentMib(pid: number): number {
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib ?? Number.NaN) / 1024
}

/** Node to node over OFTP2 with TLS. */
export async function oftp2Scene(options: SceneOptions): Promise<Scene> {
  const home = join(options.root, 'acme')
  const inbox = (number: number) => join(home, 'files', 'in', String(number))
  const tlsPort = await freePort()
  const numbers = Array.from({ length: options.channels ?? 1 }, (_, number) => number)
  const transmission = options.channel?.connection?.advancedConfigurationTransmission
  const security = { cryptography: true, ciphrate: 'TRANSMISION' } as const
  const partner = await Node.start(
    home,
    platformOf(
      [{ id: 'banco', remoteCodes: [{ code: 'BANCO' }], protocol: 'oftp2' }],
      numbers.map((number) => ({
        code: `ACME-BANCO-F${number}`,
        contact: 'banco',
        direction: 'RECEPCION',
        directories: [{ direction: 'RECEPCION', filePath: inbox(number) }],
        security,
        ...(transmission && { connection: { advancedConfigurationTransmission: transmission } }),
      })),
    ),
    { ESCLUSA_OFTP2_TLS_PORT: String(tlsPort) },
  )
  const pem = readFileSync(join(home, 'data', 'oftp2-tls.pem'), 'utf8')
  const port = (await options.between?.(tlsPort)) ?? tlsPort
  const contact: PlatformContact = {
    id: 'acme',
    remoteCodes: [{ code: 'ACME' }],
    remoteIPs: [{ id: 'ip1', ipAddress: '127.0.0.1', port }],
    protocol: 'oftp2',
    ...(options.sessions !== undefined && { oftp2: { sessions: options.sessions } }),
  }
  const channel: Channel = {
    ...options.channel,
    security: { ...security, rsaRemoteKey: pem.slice(pem.indexOf('-----BEGIN CERTIFICATE-----')) },
    connection: { ...options.channel?.connection, ips: ['127.0.0.1'] },
  }
  return sendingTo(contact, { ...options, channel }, inbox, {
    process: partner.process,
    dataDir: join(home, 'data'),
    channel: 'ACME-BANCO-F0',
  })
}

/** A node that calls an OpenSSH server. */
export async function sftpScene(options: SceneOptions & { sshd: OpenSsh }): Promise<Scene> {
  const { sshd, root } = options
  const base = join(root, 'sshd')
  const port = (await options.between?.(sshd.port)) ?? sshd.port
  const contact: PlatformContact = {
    id: 'acme',
    remoteCodes: [{ code: 'ACME' }],
    remoteIPs: [{ id: 'ip1', ipAddress: '127.0.0.1', port }],
    protocol: 'sftp',
    sftp: {
      username: sshd.username,
      privateKey: sshd.userKey.private,
      hostKeys: [sshd.hostKey.fingerprint, sshd.rsaHostKey.fingerprint],
      inbox: join(base, '0'),
      outbox: join(base, 'outbox'),
    },
  }
  await mkdir(join(base, 'outbox'), { recursive: true })
  const channel: Channel = {
    ...options.channel,
    connection: { ...options.channel?.connection, ips: ['127.0.0.1'] },
  }
  return sendingTo(contact, { ...options, channel }, () => join(base, '0'))
}

export async function folderScene(options: SceneOptions): Promise<Scene> {
  const base = join(options.root, 'acme')
  await mkdir(join(base, 'outbox'), { recursive: true })
  const contact: PlatformContact = {
    id: 'acme',
    remoteCodes: [{ code: 'ACME' }],
    protocol: 'folder',
    folder: { inbox: join(base, '0'), outbox: join(base, 'outbox') },
  }
  return sendingTo(contact, options, () => join(base, '0'))
}
