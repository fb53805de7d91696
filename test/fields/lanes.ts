// One pair of ends for each protocol and calling end, real ones: a folder, OpenSSH's server, OpenSSH's client, and
// another node over OFTP2 that is called or calls. On each, a proof makes lanes: a channel with a partner of its own, so
// that nothing but the fields it sets tells two lanes apart.

import { execFile } from 'node:child_process'
import { mkdir, readFile, readdir, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { PlatformChannel, PlatformContact } from '../../src/contract/administration/platform-file.ts'
import type { Channel } from '../../src/contract/channel.ts'
import { mergeChannel } from '../../src/domain/channel.ts'
import type { Column } from '../../src/domain/fields/effects.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import { readPlatform } from '../../src/platform/read.ts'
import { makeIdentity, startEnd, startPair } from '../oftp2/pair.ts'
import type { End, Identity } from '../oftp2/pair.ts'
import { WireTap } from '../oftp2/wire-tap.ts'
import { callPlatform } from '../support/call.ts'
import type { Answer } from '../support/call.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { freePort, makeKey, startOpenSsh } from '../support/sftp/openssh.ts'
import type { KeyPair, OpenSsh } from '../support/sftp/openssh.ts'
import { CountedLine } from './line.ts'

export type Setting = Omit<Partial<PlatformChannel>, 'code' | 'contact'>

export type LaneOptions = {
  /** What this node's channel has besides two directories, `out` and `in`. */
  ours?: (lane: Lane) => Setting
  /** OFTP2: what the other node's channel has. */
  theirs?: (lane: Lane) => Setting
  /** The partner cannot be reached at all. */
  dead?: boolean
  /** The port that is called, where it is not the one of the column's line. */
  port?: number
}

export type Outcome = { id: string; state: string; error: string; encryption: boolean; attempts: number }

/** Nothing came of it: not even a transfer. */
const REFUSED = { id: '', state: 'REFUSED', encryption: false, attempts: 0 }

export type World = {
  t: TestContext
  node: End
  /** Keys of the partner. */
  partner: Identity
  root: string
  /** OFTP2: the other node. */
  other?: End
  sftp?: { sshd: OpenSsh; port: number; key: KeyPair }
  deadPort: number
}

/** Two nodes. */
export async function startOftp2World(t: TestContext): Promise<World> {
  const { left: node, right: other } = await startPair(t)
  return { t, node, partner: other, root: await tempFolder(t), other, deadPort: await freePort() }
}

/** One node, an SSH server, and somebody who calls. */
export async function startFileWorld(t: TestContext): Promise<World> {
  const root = await tempFolder(t)
  const port = await freePort()
  const node = await startEnd(t, 'left', { ESCLUSA_SFTP_PORT: String(port) })
  const sshd = await startOpenSsh()
  closeAfter(t, () => sshd.stop())
  const sftp = { sshd, port, key: await makeKey(root, 'partner') }
  return { t, node, partner: await makeIdentity('right'), root, sftp, deadPort: await freePort() }
}

function had<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('this world has no such end')
  return part
}

let lanes = 0

export class Lane {
  readonly column: Column
  readonly name = `L${++lanes}`
  readonly world: World
  readonly #options: LaneOptions
  /** The lane's own, which is listened to. */
  #tap: WireTap | undefined
  #line: CountedLine | undefined

  constructor(world: World, column: Column, options: LaneOptions) {
    this.world = world
    this.column = column
    this.#options = options
  }

  static async make(world: World, column: Column, options: LaneOptions = {}): Promise<Lane> {
    const lane = new Lane(world, column, options)
    await lane.#make()
    return lane
  }

  get node(): End {
    return this.world.node
  }

  get partner(): Identity {
    return this.world.partner
  }

  get other(): End {
    return had(this.world.other)
  }

  /** The codes at the two ends. */
  get code(): string {
    return `${this.name}-P${this.name}-X`
  }

  get otherCode(): string {
    return `P${this.name}-${this.name}-X`
  }

  get calls(): 'local' | 'remote' {
    return this.column.endsWith('remote') ? 'remote' : 'local'
  }

  get isOftp2(): boolean {
    return this.column.startsWith('oftp2')
  }

  get tap(): WireTap {
    return had(this.#tap)
  }

  get line(): CountedLine {
    return had(this.#line)
  }

  /** In this node's files. */
  here(...steps: string[]): string {
    return join(this.node.files, this.name, ...steps)
  }

  /** Where the partner finds what it got, and puts what it has for us. */
  there(way: 'got' | 'has', ...steps: string[]): string {
    const base = this.isOftp2 ? join(this.other.files, this.name) : join(this.world.root, this.name)
    return join(base, way, ...steps)
  }

  script(name: string): string {
    return join(this.node.scripts, `${this.name}-${name}`)
  }

  /** A script that leaves a note of that name. */
  async noteScript(name: string): Promise<string> {
    const path = this.script(name)
    const body = `#!/bin/sh\necho "$ESCLUSA_STEP $ESCLUSA_FILE_NAME" >> ${join(this.world.root, `${this.name}-${name}`)}\n`
    await writeFile(path, body, { mode: 0o755 })
    return path
  }

  note(name: string): Promise<string> {
    return readFile(join(this.world.root, `${this.name}-${name}`), 'utf8').catch(() => '')
  }

  async #open(): Promise<void> {
    const { t, sftp } = this.world
    if (this.isOftp2) {
      const { plainPort } = this.calls === 'local' ? this.other : this.node
      const tap = (this.#tap = await WireTap.open(plainPort))
      closeAfter(t, () => tap.close())
    } else if (this.column === 'sftp local') {
      const line = (this.#line = await CountedLine.open(had(sftp).sshd.port))
      closeAfter(t, () => line.close())
    }
  }

  async #make(): Promise<void> {
    await this.#open()
    for (const folder of [this.here('out'), this.here('in'), this.there('got'), this.there('has')])
      await mkdir(folder, { recursive: true })
    await this.apply()
    if (!this.isOftp2) return
    const contact = { ...this.#oftp2(this.name), id: this.name.toLowerCase() }
    await put(this.other, this.name, {
      localEntities: [{ code: `P${this.name}`, name: 'x', oftp2: { id: `OP${this.name}` } }],
      contacts: [contact],
      channels: [this.#theirChannel()],
    })
  }

  /** Once more, with what the lane is to have then. */
  async apply(ours: Setting = this.#options.ours?.(this) ?? {}): Promise<void> {
    await put(this.node, this.name, {
      localEntities: [{ code: this.name, name: 'x', oftp2: { id: `O${this.name}` } }],
      contacts: [{ id: this.name.toLowerCase(), ...this.#contact() }],
      channels: [this.#ourChannel(ours)],
    })
  }

  #ourChannel(setting: Setting): Partial<PlatformChannel> {
    const asked = this.calls === 'remote' ? 'REMOTO' : 'LOCAL'
    const base: Setting = {
      direction: 'BIDIRECCIONAL',
      directories: [
        { direction: 'EMISION', filePath: this.here('out') },
        { direction: 'RECEPCION', filePath: this.here('in') },
      ],
      connection: {
        ...(this.calls === 'local' && this.column !== 'folder' && { ips: ['127.0.0.1'] }),
        ...(this.column !== 'folder' && { advancedConfigurationConnection: { callingEnd: asked } }),
      },
    }
    return { code: this.code, contact: this.name.toLowerCase(), ...merged(base, setting) }
  }

  #theirChannel(): Partial<PlatformChannel> {
    const base: Setting = {
      direction: 'BIDIRECCIONAL',
      directories: [
        { direction: 'EMISION', filePath: this.there('has') },
        { direction: 'RECEPCION', filePath: this.there('got') },
      ],
      connection: {
        ips: ['127.0.0.1'],
        advancedConfigurationConnection: { callingEnd: this.calls === 'local' ? 'REMOTO' : 'LOCAL' },
      },
    }
    const setting = this.#options.theirs?.(this) ?? {}
    return { code: this.otherCode, contact: this.name.toLowerCase(), ...merged(base, setting) }
  }

  #contact(): Partial<PlatformContact> {
    const remoteCodes = [{ id: 'rc', code: `P${this.name}` }]
    if (this.isOftp2) return this.#oftp2(`P${this.name}`)
    if (this.column === 'folder') {
      const inbox = this.#options.dead ? join(this.world.root, 'nowhere') : this.there('got')
      return { protocol: 'folder', remoteCodes, folder: { inbox, outbox: this.there('has') } }
    }
    if (this.column === 'sftp remote')
      return {
        protocol: 'sftp',
        remoteCodes,
        access: { username: this.name.toLowerCase(), authorizedKeys: [had(this.world.sftp).key.public] },
      }
    const { sshd } = had(this.world.sftp)
    return {
      protocol: 'sftp',
      remoteCodes,
      remoteIPs: this.#addresses(this.line.port),
      sftp: {
        username: sshd.username,
        privateKey: sshd.userKey.private,
        hostKeys: [sshd.hostKey.fingerprint],
        inbox: this.there('got'),
        outbox: this.there('has'),
      },
    }
  }

  #oftp2(remote: string): Partial<PlatformContact> {
    return {
      protocol: 'oftp2',
      remoteCodes: [{ id: 'rc', code: remote }],
      remoteIPs: this.#addresses(this.tap.port),
      oftp2: { id: `O${remote}` },
    }
  }

  #addresses(port: number) {
    const at = this.#options.port ?? (this.#options.dead ? this.world.deadPort : port)
    return ['127.0.0.1', '127.0.0.77'].map((ipAddress, index) => ({ id: `ip${index}`, ipAddress, port: at }))
  }

  /** A file of ours to send, old enough to count as written. */
  async put(name: string, bytes: string | Buffer, folder = this.here('out')): Promise<void> {
    await old(join(folder, name), bytes)
  }

  send(): Promise<Answer> {
    return this.node.call('sendTransfer', { code: this.code, as: 'admin' })
  }

  fetch(): Promise<Answer> {
    return fetchOn(this.node, this.code)
  }

  /** Cancels what there is. */
  async reset(): Promise<void> {
    await this.node.call('resetChannel', { code: this.code, as: 'admin' })
  }

  row(id: string): Promise<Outcome> {
    return rowOf(this.node, id)
  }

  async until(id: string, ...states: string[]): Promise<Outcome> {
    return (await waitFor(`${this.column} ${this.name}: ${states.join(' or ')}`, async () => {
      const row = await this.row(id)
      if (states.includes(row.state)) return row
      await delay(20)
      return undefined
    })) as Outcome
  }

  /** What a partner that calls had hung up before waits for its next call. */
  async ended(id: string): Promise<Outcome> {
    if (this.column !== 'oftp2 remote') return this.until(id, ...OVER)
    for (;;) {
      const row = await this.until(id, ...OVER, 'PENDING')
      if (row.state !== 'PENDING') return row
      await this.partnerTakes(id)
    }
  }

  /** Our send, and the partner's call or visit where it must come for it. */
  async emit(): Promise<Outcome> {
    const { status, text, body } = await this.send()
    if (status >= 300) return { ...REFUSED, error: `${status} ${text}` }
    const id = String(body.transferId)
    await this.partnerTakes(id)
    return this.ended(id)
  }

  async partnerTakes(id: string): Promise<void> {
    // A partner that calls before this node is ready to send calls again.
    if (this.column === 'oftp2 remote')
      await waitFor('the partner’s call to find it', async () => {
        await this.partnerCalls()
        return (await this.row(id)).state !== 'PENDING'
      })
    if (this.column !== 'sftp remote') return
    // All files of it: handed over, or waiting for the partner to have taken them.
    const lies = async () => {
      const { state, receipts_until: until } = await this.node.store.db
        .selectFrom('transfer')
        .select(['state', 'receipts_until'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      return OVER.includes(state) || until !== null
    }
    await waitFor('it lies ready', lies)
    await this.sftp('-get /X/out/*\n', this.there('got'))
  }

  /** OFTP2: the other node calls for what we have. */
  async partnerBeginsCall(): Promise<string> {
    const { status, text, body } = await fetchOn(this.other, this.otherCode)
    if (status >= 300) throw new Error(`the other node cannot fetch: ${status} ${text}`)
    return String(body.transferId)
  }

  async partnerCalls(): Promise<Outcome> {
    const id = await this.partnerBeginsCall()
    return (await waitFor('the other node’s call', async () => {
      const row = await rowOf(this.other, id)
      if (OVER.includes(row.state)) return row
      await delay(20)
      return undefined
    })) as Outcome
  }

  /** What the partner got under that name. */
  async got(name: string): Promise<Buffer> {
    const look = () => readFile(this.there('got', name)).catch(() => undefined)
    return (await waitFor(`${this.column} ${this.name}: ${name} at the partner’s`, look)) as Buffer
  }

  async partnerHas(): Promise<string[]> {
    return shown(this.there('got'))
  }

  list(...steps: string[]): Promise<string[]> {
    return shown(this.here(...steps))
  }

  /** A file of the partner's; then it is fetched, or brought. */
  async receive(name: string, bytes: string | Buffer): Promise<Outcome> {
    const before = await this.#receptions()
    await old(this.there('has', name), bytes)
    const answer = await this.#bring(name)
    if (answer.id) return this.ended(answer.id)
    const since = async () => (await this.#receptions()).find((id) => !before.includes(id))
    const id = answer.refused === undefined ? await waitFor('a reception', since) : await since()
    return id ? this.ended(id) : { ...REFUSED, error: answer.refused ?? '' }
  }

  /** The id of a fetch of ours; or why the partner was refused, if it was. */
  async #bring(name: string): Promise<{ id?: string; refused?: string }> {
    if (this.column === 'sftp remote') {
      const { code, out } = await this.sftp(`put ${name} /X/in/${name}\n`, this.there('has'))
      return code === 0 ? {} : { refused: out }
    }
    if (this.column === 'oftp2 remote') {
      const { state, error } = await this.#partnerSends()
      return state === 'COMPLETED' ? {} : { refused: error }
    }
    if (this.column === 'oftp2 local') {
      const waits = await this.#partnerWaits()
      if (waits.state === 'COMPLETED') return {}
      if (waits.state === 'FAILED') return { refused: waits.error }
    }
    const { status, text, body } = await this.fetch()
    return status >= 300 ? { refused: `${status} ${text}` } : { id: String(body.transferId) }
  }

  /** The other node has put its transfer aside until it is called; or a session was still open, and it is over. */
  async #partnerWaits(): Promise<Outcome> {
    const { status, text, body } = await this.other.call('sendTransfer', {
      code: this.otherCode,
      as: 'admin',
    })
    if (status >= 300) throw new Error(`the other node cannot send: ${status} ${text}`)
    const id = String(body.transferId)
    return (await waitFor('the other node to wait', async () => {
      const row = await rowOf(this.other, id)
      return OVER.includes(row.state) || (await isParked(this.other, id)) ? row : undefined
    })) as Outcome
  }

  async #partnerSends(): Promise<Outcome> {
    const { status, text, body } = await this.other.call('sendTransfer', {
      code: this.otherCode,
      as: 'admin',
    })
    if (status >= 300) throw new Error(`the other node cannot send: ${status} ${text}`)
    const id = String(body.transferId)
    return (await waitFor('the other node’s emission', async () => {
      const row = await rowOf(this.other, id)
      if (OVER.includes(row.state)) return row
      await delay(20)
      return undefined
    })) as Outcome
  }

  async #receptions(): Promise<string[]> {
    const rows = await this.node.store.db
      .selectFrom('transfer')
      .select('id')
      .where('channel_code', '=', this.code)
      .where('direction', '=', 'RECEPCION')
      .execute()
    return rows.map(({ id }) => id)
  }

  async history(): Promise<string[]> {
    const { body } = await this.node.call('channelHistory', {
      code: this.code,
      as: 'admin',
      query: { page: 1, size: 100 },
    })
    return (body.content as { event: string }[]).map(({ event }) => event)
  }

  /** OpenSSH's client, as this lane's partner. */
  sftp(script: string, folder: string): Promise<{ code: number; out: string }> {
    const { key, port } = had(this.world.sftp)
    const options = [
      'StrictHostKeyChecking=no',
      'UserKnownHostsFile=/dev/null',
      'BatchMode=yes',
      'IdentitiesOnly=yes',
    ].flatMap((option) => ['-o', option])
    const args = ['-q', '-F', '/dev/null', '-P', String(port), '-i', key.path, ...options]
    return new Promise((resolve) => {
      const at = { cwd: folder, timeout: 60_000 }
      const child = execFile(
        'sftp',
        [...args, '-b', '-', `${this.name.toLowerCase()}@127.0.0.1`],
        at,
        (error, out, complaints) => resolve({ code: error === null ? 0 : 1, out: out + complaints }),
      )
      child.stdin?.on('error', () => {})
      child.stdin?.end(script)
    })
  }
}

const OVER: readonly string[] = ['COMPLETED', 'FAILED', 'CANCELLED']

/** As an update merges; directories replace. */
function merged(base: Setting, setting: Setting): Setting {
  const { automation, ...channel } = setting
  return { ...mergeChannel(base as Channel, channel), ...(automation && { automation }) }
}

async function old(path: string, bytes: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, bytes)
  const then = Date.now() / 1000 - 60
  await utimes(path, then, then)
}

async function shown(folder: string): Promise<string[]> {
  const names: string[] = await readdir(folder).catch(() => [])
  return names.filter((name) => !name.startsWith('.')).sort()
}

async function put(node: TestNode, name: string, platform: object): Promise<void> {
  const file = join(node.dataDir, `${name}.yaml`)
  await writeFile(file, JSON.stringify(platform))
  const { platform: read } = readPlatform(file, { env: {}, roots: node.context.roots })
  await applyPlatform(node.context.store, node.context.seal, read, { now: Date.now() })
}

function fetchOn(node: TestNode, channelCode: string): Promise<Answer> {
  return callPlatform(node, 'fetchTransfer', 'admin', { params: { channelCode } })
}

/** It waits for a call, or its hour. */
async function isParked(node: TestNode, id: string): Promise<boolean> {
  const { due_at: dueAt } = await node.store.db
    .selectFrom('transfer')
    .select('due_at')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return dueAt > Date.now() + 3_600_000
}

export async function parked(node: TestNode, id: string): Promise<void> {
  await waitFor('it to be put aside', () => isParked(node, id))
}

async function rowOf(node: TestNode, id: string): Promise<Outcome> {
  const row = await node.store.db
    .selectFrom('transfer')
    .select(['state', 'error', 'error_code', 'encryption', 'attempts'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const { state, attempts } = row
  return { id, state, attempts, error: `${row.error_code} ${row.error}`, encryption: row.encryption === 1 }
}
