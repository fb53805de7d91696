// Two whole nodes that exchange files over OFTP2 on loopback. Each relation is a pair of local entities of its own,
// one at each end, with one or more channels: relations share the nodes and nothing else, so that every test may set
// its own keys, calling ends and formats.

import { createPrivateKey } from 'node:crypto'
import { mkdir, readFile, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'
import { freePort } from '../support/sftp/openssh.ts'
import { applyPlatform } from '../../src/platform/apply.ts'
import { readPlatform } from '../../src/platform/read.ts'
import type { PlatformChannel, PlatformContact } from '../../src/contract/administration/platform-file.ts'
import { startTestNode, tempFolder, waitFor } from '../support/harness.ts'
import type { TestNode } from '../support/harness.ts'
import { SAMPLES } from '../support/oftp2/partner.ts'
import type { TrialPartner } from '../support/oftp2/partner.ts'

export type Side = 'left' | 'right'
export type ChannelSetting = Omit<Partial<PlatformChannel>, 'code' | 'contact'>

export type Identity = { identity: string; certificate: string }

export async function makeIdentity(commonName: string, days = 30): Promise<Identity> {
  const { privateKeyPem, certificatePem } = await generateSelfSigned({ commonName, days, bits: 2048 })
  return { identity: `${privateKeyPem.trim()}\n${certificatePem.trim()}\n`, certificate: certificatePem }
}

export type End = TestNode & Identity & { side: Side; scripts: string; plainPort: number; tlsPort: number }

/** How a relation differs at one end from what both ends have. */
export type RelationEnd = {
  /** By application; every relation has the same applications at both ends unless one leaves it out. */
  channels: Record<string, ChannelSetting>
  /** Where this end calls; its partner's own port without. */
  port?: number
  oftp2?: PlatformContact['oftp2']
}

export type Relation = {
  name: string
  code(side: Side, application: string): string
  folder(side: Side, way: 'out' | 'in', application: string): string
}

const OTHER = { left: 'right', right: 'left' } as const
const PATIENCE_MS = 180_000

export class Pair {
  readonly left: End
  readonly right: End
  #relations = 0

  constructor(left: End, right: End) {
    this.left = left
    this.right = right
  }

  /** Both ends are told; the platform file goes the way of `esclusa apply`. */
  async relate(made: (relation: Relation) => Record<Side, RelationEnd>): Promise<Relation> {
    const number = ++this.#relations
    const name = `R${number}`
    const local = { left: `L${number}`, right: `R${number}` }
    const relation: Relation = {
      name,
      code: (side, application) => `${local[side]}-${local[OTHER[side]]}-${application}`,
      folder: (side, way, application) => join(this[side].files, name, application, way),
    }
    const ends = made(relation)
    for (const side of ['left', 'right'] as const) await this.#apply(side, local, relation, ends[side])
    return relation
  }

  async #apply(side: Side, local: Record<Side, string>, relation: Relation, end: RelationEnd): Promise<void> {
    const node = this[side]
    const other = this[OTHER[side]]
    const encrypted = Object.values(end.channels).some(({ security }) =>
      ['TRANSMISION', 'ALL'].includes(security?.ciphrate ?? ''),
    )
    const contact = {
      id: relation.name.toLowerCase(),
      name: relation.name,
      remoteCodes: [{ id: 'rc', code: local[OTHER[side]] }],
      remoteIPs: [
        { id: 'ip', ipAddress: '127.0.0.1', port: end.port ?? other[encrypted ? 'tlsPort' : 'plainPort'] },
      ],
      protocol: 'oftp2',
      oftp2: { id: `O0013${local[OTHER[side]]}`, ...end.oftp2 },
    }
    const channels = Object.entries(end.channels).map(([application, setting]) => ({
      code: relation.code(side, application),
      contact: contact.id,
      direction: 'BIDIRECCIONAL',
      directories: this.directories(relation, side, application),
      ...setting,
      connection: { ips: ['127.0.0.1'], ...setting.connection },
    }))
    for (const application of Object.keys(end.channels))
      for (const way of ['out', 'in'] as const)
        await mkdir(relation.folder(side, way, application), { recursive: true })
    const file = join(node.dataDir, `${relation.name}.yaml`)
    const localEntities = [{ code: local[side], name: local[side], oftp2: { id: `O0013${local[side]}` } }]
    await writeFile(file, JSON.stringify({ localEntities, contacts: [contact], channels }))
    await this.apply(side, file)
  }

  async apply(side: Side, file: string): Promise<void> {
    const { context } = this[side]
    const { platform } = readPlatform(file, { env: {}, roots: context.roots })
    await applyPlatform(context.store, context.seal, platform, { now: Date.now() })
  }

  directories(relation: Relation, side: Side, application: string, more: object = {}) {
    return [
      { direction: 'EMISION' as const, filePath: relation.folder(side, 'out', application), ...more },
      { direction: 'RECEPCION' as const, filePath: relation.folder(side, 'in', application), ...more },
    ]
  }

  /** Secrets and keys of one end towards the other. */
  keys(
    side: Side,
    change: NonNullable<PlatformChannel['security']> = {},
  ): NonNullable<PlatformChannel['security']> {
    const secrets = { left: 'LEFTPASS', right: 'RIGHTPAS' }
    return {
      localKey: secrets[side],
      remoteKey: secrets[OTHER[side]],
      rsaLocalKey: this[side].identity,
      rsaRemoteKey: this[OTHER[side]].certificate,
      ...change,
    }
  }

  /** A file to send, old enough to count as written. */
  async put(
    relation: Relation,
    side: Side,
    application: string,
    name: string,
    bytes: string | Buffer,
  ): Promise<void> {
    const path = join(relation.folder(side, 'out', application), name)
    await writeFile(path, bytes)
    const then = Date.now() / 1000 - 60
    await utimes(path, then, then)
  }

  async send(side: Side, code: string): Promise<string> {
    const { status, text, body } = await this[side].call('sendTransfer', { code, as: 'admin' })
    if (status >= 300) throw new Error(`send on ${code}: ${status} ${text}`)
    return String(body.transferId)
  }

  async ended(side: Side, id: string, patienceMs = PATIENCE_MS): Promise<Ended> {
    return waitFor(`the end of transfer ${id}`, () => this.#ifEnded(side, id), patienceMs) as Promise<Ended>
  }

  async #ifEnded(side: Side, id: string): Promise<Ended | undefined> {
    const row = await this[side].store.db
      .selectFrom('transfer')
      .select(['state', 'error', 'error_code', 'attempts', 'encryption'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    return ['COMPLETED', 'FAILED', 'CANCELLED'].includes(row.state) ? row : undefined
  }

  async arrived(relation: Relation, side: Side, application: string, name: string): Promise<Buffer> {
    const path = join(relation.folder(side, 'in', application), name)
    return waitFor(
      `${path} to arrive`,
      () => readFile(path).catch(() => undefined),
      PATIENCE_MS,
    ) as Promise<Buffer>
  }

  received(relation: Relation, side: Side, application: string): Promise<string[]> {
    return readdir(relation.folder(side, 'in', application))
  }

  async history(side: Side, code: string): Promise<{ event: string; detail: string | null }[]> {
    return this[side].store.db
      .selectFrom('history')
      .select(['event', 'detail'])
      .where('channel_code', '=', code)
      .orderBy('position')
      .execute()
  }
}

export type Ended = {
  state: string
  error: string | null
  error_code: string | null
  attempts: number
  encryption: number
}

export async function startPair(t: TestContext): Promise<Pair> {
  const [left, right] = await Promise.all([startEnd(t, 'left'), startEnd(t, 'right')])
  return new Pair(left, right)
}

function keyOf(identity: string): string {
  return createPrivateKey(identity).export({ type: 'pkcs1', format: 'pem' }).toString()
}

export async function startEnd(
  t: TestContext,
  side: Side,
  settings: Record<string, string> = {},
): Promise<End> {
  const dataDir = await tempFolder(t)
  const scripts = await tempFolder(t)
  const keys = await makeIdentity(side)
  await writeFile(join(dataDir, 'oftp2-tls.pem'), keys.identity, { mode: 0o600 })
  // Making one takes its time.
  if (settings.ESCLUSA_SFTP_PORT)
    await writeFile(join(dataDir, 'sftp-host-key.pem'), keyOf(keys.identity), { mode: 0o600 })
  const [plainPort, tlsPort] = [await freePort(), await freePort()]
  const node = await startTestNode(t, {
    empty: true,
    settings: {
      ESCLUSA_DATA_DIR: dataDir,
      ESCLUSA_OFTP2_PORT: String(plainPort),
      ESCLUSA_OFTP2_TLS_PORT: String(tlsPort),
      ESCLUSA_WORKERS: '4',
      ESCLUSA_LOG_LEVEL: 'silent',
      ESCLUSA_SCRIPT_ROOTS: scripts,
      ...settings,
    },
  })
  return { ...node, ...keys, side, scripts, plainPort, tlsPort }
}

/** Buffers that a foreign partner takes before it gives new credit. */
export const CREDIT = 4

/** A foreign partner lets the left node in. */
export async function greet(partner: TrialPartner, relation: Relation): Promise<void> {
  const [, remote = ''] = relation.code('left', '').split('-')
  await partner.say(SAMPLES.SSRM).expect('SSID')
  partner.say({ ...SAMPLES.SSID, code: `O0013${remote}`, bufferSize: 4096, credit: CREDIT })
}

/** All of them are in hand: from here on nothing but the partner keeps them waiting. */
export async function allStarted(pair: Pair, ids: readonly string[]): Promise<void> {
  await waitFor('every transfer to start', async () => {
    const { db } = pair.left.store
    const rows = await db.selectFrom('transfer').select('state').where('id', 'in', ids).execute()
    return rows.every(({ state }) => state === 'IN_PROGRESS')
  })
}
