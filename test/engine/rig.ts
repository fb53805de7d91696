// An engine put together as engine.ts does it, with its inside in reach: a clock that can be set ahead, transports that
// can be wrapped, partners that are folders. Nothing here is a double of the engine itself.

import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readFile, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Channel } from '../../src/contract/channel.ts'
import type { TransferEvent } from '../../src/contract/event.ts'
import { parseCode } from '../../src/domain/channel.ts'
import { zoneOf } from '../../src/domain/time.ts'
import type { TransferRecord } from '../../src/domain/transfer.ts'
import { isOver } from '../../src/domain/transfer.ts'
import { startAutomation } from '../../src/engine/scheduling/automation.ts'
import { clearEnded } from '../../src/engine/scheduling/clear-ended.ts'
import { makeSessionHost } from '../../src/engine/sessions/session-host.ts'
import { OwedReceipts } from '../../src/engine/sessions/owed-receipts.ts'
import { receiptsDelivered } from '../../src/store/transfers/receipts.ts'
import { receiptsToSend } from '../../src/engine/sessions/receipts.ts'
import { Dispatcher } from '../../src/engine/scheduling/dispatcher.ts'
import { FinishingReceptions } from '../../src/engine/receiving/finishing-receptions.ts'
import { Heartbeat } from '../../src/engine/scheduling/heartbeat.ts'
import { OfferMemory } from '../../src/engine/receiving/offer-memory.ts'
import { Receptions } from '../../src/engine/receiving/receptions.ts'
import { WriteTogether } from '../../src/engine/receiving/small/write-together.ts'
import { makeTransferPlan, snapshotOf } from '../../src/engine/transfer-plan.ts'
import { runTransfer } from '../../src/engine/scheduling/run-transfer.ts'
import type { Runner } from '../../src/engine/scheduling/run-transfer.ts'
import { SessionPool } from '../../src/engine/sessions/session-pool.ts'
import { makeSlots } from '../../src/engine/scheduling/slots.ts'
import { Quotas } from '../../src/engine/staging/quotas.ts'
import { makeStaging } from '../../src/engine/staging/staging.ts'
import { createFolder } from '../../src/engine/transports/folder/folder.ts'
import type { Protocol, SessionHost, Transport } from '../../src/engine/transports/transport.ts'
import type { EngineContext } from '../../src/engine/engine-context.ts'
import { NodeError } from '../../src/errors.ts'
import { makeKnownAddresses } from '../../src/accounts/known-addresses.ts'
import { makeLimiter } from '../../src/accounts/limiter.ts'
import { makeLog } from '../../src/log.ts'
import { findChannel, insertChannels, sealChannel } from '../../src/store/channels.ts'
import type { Automation, ChannelRecord } from '../../src/store/channels.ts'
import { putContact, putLocalEntity } from '../../src/store/contacts.ts'
import type { ContactRecord } from '../../src/store/contacts.ts'
import { newId } from '../../src/store/database/ids.ts'
import { openStore } from '../../src/store/database/open.ts'
import type { Store } from '../../src/store/database/store.ts'
import { makeSeal } from '../../src/store/seal.ts'
import { lastEnded } from '../../src/store/transfers/failures.ts'
import { findTransfer } from '../../src/store/transfers/transfers.ts'
import { requestSend } from '../../src/transfers/request.ts'
import { requestRetry } from '../../src/transfers/retry.ts'
import { resetChannel } from '../../src/transfers/reset.ts'
import { closeAfter, sqlite, tempFolder, waitFor } from '../support/harness.ts'
import type { TestDatabase } from '../support/harness.ts'

const folderTransport = createFolder({ scriptRoots: [] })

export const CODE = 'BANCO-ACME-NOMINA'

export type RigOptions = {
  database?: TestDatabase
  transports?: readonly Transport<never>[]
  workers?: number
  leaseMs?: number
  scriptMs?: number
  /** A reception that nobody ends is ended by `lastReception` and `ended`, so that none depends on how slow a test is. */
  receptionIdleMs?: number
  /** Shares the place (database, folders) of another rig: a second node. */
  beside?: Rig
}

type Place = {
  root: string
  files: string
  scripts: string
  inbox: string
  outbox: string
  dataDir: string
  databaseUrl: string | undefined
}

export class Rig {
  readonly place: Place
  readonly store: Store
  readonly context: EngineContext
  readonly sessions: SessionPool
  readonly dispatcher: Dispatcher
  readonly runner: Runner
  readonly receptions: Receptions
  readonly #finishing = new FinishingReceptions()
  readonly events: TransferEvent[] = []
  readonly counted = { EMISION: 0, RECEPCION: 0 }
  readonly #hosts = new Map<string, SessionHost>()
  readonly #owed: OwedReceipts
  readonly #stopping = new AbortController()
  #ahead = 0
  #state: 'new' | 'running' | 'stopped' = 'new'

  constructor(place: Place, store: Store, options: RigOptions) {
    this.place = place
    this.store = store
    this.context = this.#makeContext(options)
    const { context } = this
    this.#owed = new OwedReceipts(
      (reach, isFree) => receiptsToSend(context, reach, isFree),
      (ids) => context.store.write((tx) => receiptsDelivered(tx, ids, context.now())),
    )
    const known: readonly Transport<never>[] = options.transports ?? [folderTransport]
    const transports = new Map(known.map((one) => [one.protocol, one]))
    this.receptions = new Receptions({
      context: this.context,
      hold: (held) => this.dispatcher.hold(held),
      release: (held) => this.dispatcher.release(held),
      background: (contactId, running) => this.#background(contactId, running),
      askNodes: (code) => options.beside?.receptions.letGo(code),
    })
    this.sessions = new SessionPool(
      this.context,
      transports,
      (protocol) => this.host(protocol),
      (reach) => this.receptions.sessionDone(reach),
    )
    this.runner = {
      context: this.context,
      sessions: this.sessions,
      protocolOf: (protocol) => transports.get(protocol),
      receptions: this.receptions,
    }
    this.dispatcher = new Dispatcher(this.context, options.workers ?? 2, {
      run: (claim, signal, given) => runTransfer(this.runner, claim, signal, given),
      clear: (transferId) => clearEnded(this.runner, transports, transferId),
    })
    for (const protocol of known) this.#addHost(protocol)
  }

  #makeContext(options: RigOptions): EngineContext {
    const owner = randomUUID()
    const leaseMs = options.leaseMs ?? 15_000
    const now = () => Date.now() + this.#ahead
    return {
      owner,
      store: this.store,
      seal: makeSeal('a master key for tests, 32 bytes long'),
      log: makeLog('silent', 'test'),
      zone: zoneOf('UTC'),
      roots: { fileRoots: [this.place.files], scriptRoots: [this.place.scripts] },
      limiter: makeLimiter(this.store),
      limits: {
        maxOpenedOctets: 2 ** 40,
        diskReserveOctets: 0,
        contactOctets: 2 ** 50,
        contactFiles: 10_000,
      },
      quotaMet: () => {},
      knownAddresses: makeKnownAddresses(this.store, Date.now),
      codePage: '1047',
      policy: { leastDigest: 'SHA-256', leastCipher: 'AES', leastRsaBits: 2048 },
      staging: makeStaging(this.place.dataDir),
      slots: makeSlots(options.workers ?? 2),
      leaseMs,
      heartbeat: new Heartbeat({ store: this.store, owner, leaseMs, now }),
      scriptMs: options.scriptMs ?? 60_000,
      receptionIdleMs: options.receptionIdleMs ?? 10_000,
      now,
      stopping: this.#stopping.signal,
      publish: (event) => void this.events.push(event),
      counted: (direction, octets) => void (this.counted[direction] += octets),
    }
  }

  #background(contactId: string, running: Promise<void>): void {
    this.#finishing.add(contactId, running)
    this.dispatcher.background(running)
  }

  #addHost(protocol: Protocol): void {
    const { context, dispatcher, sessions, receptions } = this
    const finishing = this.#finishing
    const reception = {
      context,
      capabilities: protocol.capabilities,
      memory: new OfferMemory(),
      quotas: new Quotas(this.context),
      receptions,
      together: new WriteTogether(this.context),
      background: (contactId: string, running: Promise<void>) => this.#background(contactId, running),
    }
    this.#hosts.set(
      protocol.protocol,
      makeSessionHost({
        context,
        launcher: dispatcher,
        sessions,
        owed: this.#owed,
        reception,
        finishing,
        protocol,
      }),
    )
  }

  host(protocol = 'folder'): SessionHost {
    const host = this.#hosts.get(protocol)
    if (!host) throw new Error(`no host for ${protocol}`)
    return host
  }

  /** From now on due transfers are claimed. */
  run(): this {
    if (this.#state === 'new') this.dispatcher.start()
    this.#state = 'running'
    return this
  }

  /** Sets the engine's clock ahead; only while nothing runs, since leases go by it too. */
  setAhead(ms: number): void {
    this.#ahead += ms
    this.wake()
  }

  wake(): void {
    if (this.#state === 'running') this.dispatcher.wake()
  }

  /** Sets the engine's clock to the next time the UTC clock shows HH:mm. */
  setClock(hour: string): void {
    const now = this.context.now()
    const at = Date.parse(`${new Date(now).toISOString().slice(0, 10)}T${hour}:00.000Z`)
    this.setAhead((at > now ? at : at + 86_400_000) - now)
  }

  async stop(drainMs = 0): Promise<void> {
    if (this.#state === 'stopped') return
    this.#state = 'stopped'
    this.#stopping.abort(new NodeError('unavailable', 'the node is stopping'))
    this.receptions.closeAll()
    await this.dispatcher.drain(drainMs)
    await this.sessions.closeAll()
    await this.receptions.ended()
  }

  automate(t: TestContext): void {
    const clock = startAutomation(this.runner, this.#owed, () => this.wake())
    closeAfter(t, async () => {
      this.#stopping.abort(new NodeError('unavailable', 'the node is stopping'))
      await clock.stop()
    })
  }

  // The platform

  async putContact(contact: Partial<ContactRecord> & { id: string }): Promise<void> {
    await this.store.write((tx) =>
      putContact(tx, {
        protocol: 'folder',
        data: {
          id: contact.id,
          name: contact.id,
          remoteCodes: [{ id: 'rc', code: contact.id.toUpperCase() }],
        },
        settings: { folder: { inbox: this.place.inbox, outbox: this.place.outbox } },
        secrets: {},
        ...contact,
      }),
    )
  }

  async putChannel(
    code: string,
    channel: Channel,
    more: { contactId?: string; automation?: Automation; alias?: string } = {},
  ): Promise<ChannelRecord> {
    const { localCode = '', application = '' } = parseCode(code) ?? {}
    const sealed = sealChannel(this.context.seal, code, { application, ...channel })
    await this.store.write((tx) =>
      insertChannels(tx, [
        {
          code,
          id: newId(Date.now()),
          contactId: more.contactId ?? 'acme',
          localCode,
          alias: more.alias ?? null,
          automation: more.automation ?? null,
          revision: 1,
          ...sealed,
        },
      ]),
    )
    return this.channel(code)
  }

  async channel(code = CODE): Promise<ChannelRecord> {
    const channel = await findChannel(this.store.db, code)
    if (!channel) throw new Error(`no channel ${code}`)
    return channel
  }

  async plan(code = CODE) {
    return makeTransferPlan(this.store.db, this.context.seal, snapshotOf(await this.channel(code)))
  }

  // What people do

  async send(code = CODE): Promise<TransferRecord> {
    const transfer = await requestSend(this.#asking(), await this.channel(code), 'MANUAL')
    this.wake()
    return transfer
  }

  async retry(code = CODE): Promise<TransferRecord> {
    const transfer = await requestRetry(this.#asking(), await this.channel(code))
    this.wake()
    return transfer
  }

  /** `tell: false`: the node is not told, and finds out by itself. */
  async reset(code = CODE, { tell = true } = {}): Promise<string[]> {
    const channel = await this.channel(code)
    const { cancelled, settled } = await resetChannel(this.store, channel, this.context.now(), 'tester')
    if (tell) for (const id of [...cancelled, ...(settled ? [settled] : [])]) this.dispatcher.cancel(id)
    return cancelled
  }

  #asking() {
    return {
      store: this.store,
      fileRoots: this.context.roots.fileRoots,
      now: this.context.now,
      requestedBy: 'tester',
    }
  }

  /** Sends and waits for the end. */
  async sendAndEnd(code = CODE): Promise<TransferRecord> {
    return this.ended((await this.send(code)).id)
  }

  /** Takes what lies in the partner's outbox, as the automation does; gives the error that the fetch ended with. */
  async fetch(code = CODE): Promise<unknown> {
    const lent = await this.sessions.lend(await this.plan(code), 0)
    let fault: unknown
    try {
      await lent.session.fetch(this.#stopping.signal)
    } catch (thrown) {
      fault = thrown
    }
    this.receptions.sessionDone(lent.session.reach)
    await this.receptions.ended()
    await lent.giveBack(fault === undefined)
    return fault
  }

  // What can be seen

  async transfer(id: string): Promise<TransferRecord> {
    const found = await findTransfer(this.store.db, id)
    if (!found) throw new Error(`no transfer ${id}`)
    return found
  }

  async errorCode(id: string): Promise<string | null | undefined> {
    const row = await this.store.db
      .selectFrom('transfer')
      .select('error_code')
      .where('id', '=', id)
      .executeTakeFirst()
    return row?.error_code
  }

  async output(id: string): Promise<string> {
    const row = await this.store.db
      .selectFrom('transfer')
      .select('output')
      .where('id', '=', id)
      .executeTakeFirst()
    return row?.output ?? ''
  }

  async history(code = CODE): Promise<string[]> {
    const rows = await this.store.db
      .selectFrom('history')
      .select('event')
      .where('channel_code', '=', code)
      .orderBy('position')
      .execute()
    return rows.map((row) => row.event)
  }

  async ended(id: string): Promise<TransferRecord> {
    await waitFor(`the end of transfer ${id}`, async () => {
      const { state, direction, channelCode } = await this.transfer(id)
      if (direction === 'RECEPCION') this.receptions.letGo(channelCode)
      return isOver(state)
    })
    return this.transfer(id)
  }

  /** The reception that ended last. */
  async lastReception(code = CODE): Promise<TransferRecord> {
    return waitFor('a reception that is over', async () => {
      this.receptions.letGo(code)
      const last = await lastEnded(this.store.db, code, 'RECEPCION')
      return last && this.transfer(last.id)
    }).then((found) => found as TransferRecord)
  }

  // Folders

  /** A file to send, old enough to count as written. */
  async put(name: string, bytes: string | Buffer, folder = join(this.place.files, 'out')): Promise<string> {
    const path = join(folder, name)
    await mkdir(folder, { recursive: true })
    await writeFile(path, bytes)
    const then = Date.now() / 1000 - 60
    await utimes(path, then, then)
    return path
  }

  offer(name: string, bytes: string | Buffer): Promise<string> {
    return this.put(name, bytes, this.place.outbox)
  }

  /** An executable script with that body. */
  async script(name: string, body: string): Promise<string> {
    const path = join(this.place.scripts, name)
    await writeFile(path, `#!/bin/sh\n${body}\n`)
    await chmod(path, 0o755)
    return path
  }

  /** What the partner sees, hidden names left out. */
  async inbox(): Promise<string[]> {
    return (await readdir(this.place.inbox)).filter((name) => !name.startsWith('.')).sort()
  }

  async hidden(): Promise<string[]> {
    return (await readdir(this.place.inbox)).filter((name) => name.startsWith('.'))
  }

  delivered(name: string): Promise<Buffer> {
    return readFile(join(this.place.inbox, name))
  }

  async list(folder: string): Promise<string[]> {
    const names: string[] = await readdir(join(this.place.files, folder)).catch(() => [])
    return names.sort()
  }

  read(...steps: string[]): Promise<Buffer> {
    return readFile(join(this.place.files, ...steps))
  }
}

export async function startRig(t: TestContext, options: RigOptions = {}): Promise<Rig> {
  const place = options.beside?.place ?? (await makePlace(t, options.database ?? sqlite))
  const store = await openStore({ dataDir: place.dataDir, databaseUrl: place.databaseUrl })
  closeAfter(t, () => store.close())
  const rig = new Rig(place, store, options)
  closeAfter(t, () => rig.stop())
  if (options.beside) return rig
  await store.write((tx) => putLocalEntity(tx, { code: 'BANCO', name: 'Banco Azul', oftp2Id: null }))
  await rig.putContact({ id: 'acme' })
  return rig
}

async function makePlace(t: TestContext, database: TestDatabase): Promise<Place> {
  const root = await tempFolder(t)
  const at = (name: string) => join(root, name)
  const place = {
    root,
    files: at('files'),
    scripts: at('scripts'),
    inbox: at('partner-in'),
    outbox: at('partner-out'),
    dataDir: at('data'),
    databaseUrl: await database.create(t, at('data')),
  }
  for (const folder of ['files/out', 'files/in', 'scripts', 'partner-in', 'partner-out', 'data'])
    await mkdir(at(folder), { recursive: true })
  return place
}

/** Sends from `out`, receives into `in`, over the folder transport; the rest as given. */
export function channelOf(rig: Rig, change: Channel = {}): Channel {
  return {
    direction: 'BIDIRECCIONAL',
    directories: [
      { direction: 'EMISION', filePath: join(rig.place.files, 'out') },
      { direction: 'RECEPCION', filePath: join(rig.place.files, 'in') },
    ],
    ...change,
  }
}

/** The fields of both directories. */
export function withDirectories(rig: Rig, change: NonNullable<Channel['directories']>[number]): Channel {
  const { directories = [] } = channelOf(rig)
  return channelOf(rig, { directories: directories.map((directory) => ({ ...directory, ...change })) })
}

/** A rig with one channel, running. */
export async function runningRig(t: TestContext, change: (rig: Rig) => Channel, options: RigOptions = {}) {
  const rig = await startRig(t, options)
  await rig.putChannel(CODE, change(rig))
  return rig.run()
}
