// Files that partners hand over. The order, each step durable before the next:
//
//   1 offered   a REMOTE transfer IN_PROGRESS under our lease, its file MOVING
//   2 moving    bytes to a `.part`, restart points recorded now and then
//   3 whole     synced, checked, unwrapped, pre-script done, a free name chosen: WHOLE
//   4 placed    linked to that name, folder synced; then PLACED with the memory against receiving it again
//   5 acknowledged: `complete` resolves, and the transport tells the partner
//   6 done      post-action, receipt owed, COMPLETED
//
// A crash before 3 leaves a half file that the partner may resume; from 3 on the node finishes alone, and a partner
// that never heard the acknowledgement and offers the file again is told that it is here.

import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import type { TransferFileRecord } from '../domain/transfer.ts'
import { NodeError } from '../errors.ts'
import { exists } from '../files/place.ts'
import { addHistory } from '../store/channels.ts'
import { newId } from '../store/ids.ts'
import { requireHeld, updateFile } from '../store/leases.ts'
import type { Held } from '../store/leases.ts'
import { findPartial, findReceived, putPartial, putReceived, removePartial } from '../store/receptions.ts'
import type { FileKey } from '../store/receptions.ts'
import { insertFiles } from '../store/transfers.ts'
import { restartEvery } from './emission.ts'
import type { Running } from './emission.ts'
import { makeProgress } from './events.ts'
import { FileSource, piecesOf } from './file-source.ts'
import { chooseInbound } from './inbound-channel.ts'
import type { Inbound } from './inbound-channel.ts'
import { IncomingFile } from './incoming-file.ts'
import { proposedKey } from './key-exchange.ts'
import { makePlan, snapshotOf } from './plan.ts'
import type { Plan } from './plan.ts'
import {
  beginReception,
  failReception,
  finishReception,
  placeWhole,
  quarantine,
  recordPlaced,
} from './reception-transfer.ts'
import { runStep } from './script-steps.ts'
import { stage } from './staging.ts'
import { suiteOf } from './transforms/cms/suites.ts'
import { namesOneFile } from './transports/transport.ts'
import type { Capabilities, Incoming, Offer } from './transports/transport.ts'
import { formatMismatch, incomingSteps } from './wire-form.ts'
import type { Work } from './work.ts'

/** What a reception needs of the engine around it. */
export type ReceptionDesk = {
  work: Work
  capabilities: Capabilities
  /** A fetch under way for that channel, whose transfer the file joins instead of making its own. */
  joins: (channelCode: string) => Running | undefined
  /** The engine keeps the lease of a transfer from now on, and stops it by this signal. */
  hold: (held: Held) => AbortSignal
  release: (held: Held) => void
  /** Work that goes on after the partner was answered; the engine waits for it when it stops. */
  background: (contactId: string, running: Promise<void>) => void
}

export async function receiveOffer(desk: ReceptionDesk, offer: Offer): Promise<Incoming> {
  const { work } = desk
  const inbound = await chooseInbound(work, offer)
  const plan = await makePlan(work.store.db, work.seal, snapshotOf(inbound.channel))
  refuseUnfit(desk, offer, plan, inbound)
  const key: FileKey = { channelCode: inbound.channel.code, ...offer.key }
  const before = namesOneFile(offer.key) ? await findReceived(work.store.db, key) : undefined
  if (before) return receivedBefore(offer, before.size)
  const reception = new Reception(desk, offer, plan, inbound, key)
  await reception.open()
  return reception
}

function refuseUnfit(
  { capabilities }: ReceptionDesk,
  offer: Offer,
  plan: Plan,
  { directory, channel }: Inbound,
): void {
  if (plan.security.encrypted && !offer.encryptedSession)
    throw new NodeError(
      'insecure_session',
      `channel ${channel.code} takes files over encrypted sessions alone`,
    )
  if (capabilities.records && plan.encryptFiles && !offer.envelope?.encrypted)
    throw new NodeError('insecure_session', `channel ${channel.code} takes encrypted files alone`)
  if (capabilities.records && plan.signedFilesOnly && !offer.envelope?.signed)
    throw new NodeError('bad_signature', `channel ${channel.code} takes signed files alone`)
  const mismatch = formatMismatch(directory, offer.format, capabilities)
  if (mismatch) throw new NodeError('file_refused', `channel ${channel.code}: ${mismatch}`)
  const name = offer.name
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name) || Buffer.byteLength(name) > 255)
    throw new NodeError('file_refused', 'the file’s name is not a plain name of at most 255 octets')
}

/** It is here already and the partner did not hear so: where it can skip the bytes it does, else it is told. */
function receivedBefore(offer: Offer, size: number): Incoming {
  if (offer.size === undefined || offer.restartFrom < offer.size || offer.size !== size)
    throw new NodeError('duplicate_file', `${offer.name} was received before`)
  const nothing = () => Promise.resolve()
  return {
    position: offer.size,
    read: () => Promise.resolve(0),
    truncate: nothing,
    write: nothing,
    complete: nothing,
    abandon: nothing,
  }
}

class Reception implements Incoming {
  position = 0
  readonly #desk: ReceptionDesk
  readonly #offer: Offer
  readonly #plan: Plan
  readonly #inbound: Inbound
  readonly #key: FileKey
  #file: IncomingFile | undefined
  #running: Running | undefined
  /** It joined a fetch: the transfer is the fetch's to end. */
  #joined = false
  #record: TransferFileRecord
  #moved: (position: number) => void = () => {}

  constructor(desk: ReceptionDesk, offer: Offer, plan: Plan, inbound: Inbound, key: FileKey) {
    this.#desk = desk
    this.#offer = offer
    this.#plan = plan
    this.#inbound = inbound
    this.#key = key
    this.#record = newRecord(offer, inbound)
  }

  async open(): Promise<void> {
    const { work } = this.#desk
    const half = this.#key.date === '' ? undefined : await findPartial(work.store.db, this.#key)
    const usable = half && (await exists(half.path))
    const path = usable ? half.path : await work.staging.incoming(randomUUID())
    this.position = usable ? Math.min(half.position, this.#offer.restartFrom) : 0
    this.#record.position = this.position
    try {
      await this.#begin(path)
    } catch (thrown) {
      // Another file of this channel is on its way in: this one gets its transfer when it is whole.
      if (!(thrown instanceof NodeError) || thrown.code !== 'conflict') throw thrown
      const partial = { path, position: this.position }
      if (this.#key.date !== '')
        await work.store.write((tx) => putPartial(tx, this.#key, partial, work.now()))
    }
    const every = restartEvery(this.#plan, this.#inbound.directory)
    this.#file = await IncomingFile.open(path, this.position, every, (position) => this.#keep(position))
    this.#running?.signal.addEventListener('abort', () => void this.#file?.close())
  }

  async #begin(path: string): Promise<void> {
    const { work, joins, hold } = this.#desk
    const { channel } = this.#inbound
    const fetching = joins(channel.code)
    if (fetching) {
      this.#joined = true
      this.#record.index = fetching.transfer.files.length
      fetching.transfer.files.push(this.#record)
      await work.store.write(async (tx) => {
        await requireHeld(tx, work.store.dialect, fetching.held)
        await insertFiles(tx, fetching.transfer.id, [this.#record])
      })
      this.#running = { ...fetching, plan: this.#plan }
    } else {
      const { transfer, held } = await beginReception(work, channel, this.#record, this.#offer, path)
      this.#running = { work, transfer, held, plan: this.#plan, signal: hold(held) }
      work.publish({
        kind: 'state',
        transferId: transfer.id,
        channelCode: channel.code,
        direction: 'RECEPCION',
        status: 'IN_PROGRESS',
        at: work.now(),
      })
    }
    this.#moved = progressFor(this.#running, this.#record, this.#offer)
  }

  read(into: Uint8Array, position: number): Promise<number> {
    return this.#opened().read(into, position)
  }

  truncate(length: number): Promise<void> {
    this.position = Math.min(this.position, length)
    return this.#opened().truncate(length)
  }

  async write(chunk: Uint8Array, position: number): Promise<void> {
    this.#running?.signal.throwIfAborted()
    await this.#opened().write(chunk, position)
    this.#moved(position + chunk.length)
  }

  #opened(): IncomingFile {
    if (!this.#file) throw new Error('a reception is used before it is open')
    return this.#file
  }

  async #keep(position: number): Promise<void> {
    if (this.#key.date === '') return
    const { work } = this.#desk
    await work.store.write(async (tx) => {
      if (this.#running) await requireHeld(tx, work.store.dialect, this.#running.held)
      await putPartial(tx, this.#key, { path: this.#opened().path, position }, work.now())
    })
  }

  async complete(end: { size: number; sha256?: string }): Promise<void> {
    try {
      const whole = await this.#opened().finish()
      if (whole.size !== end.size)
        throw new NodeError(
          'connection_lost',
          `${this.#offer.name}: ${whole.size} octets came of ${end.size}`,
        )
      if (end.sha256 !== undefined && end.sha256 !== whole.sha256)
        throw new NodeError(
          'hash_mismatch',
          `${this.#offer.name}: the partner sent SHA-256 ${end.sha256}, here arrived ${whole.sha256}`,
        )
      await this.#awaitTurn()
      await this.#put(whole)
    } catch (thrown) {
      await this.abandon(thrown, false)
      throw thrown
    }
    this.#finishLater()
  }

  /** Files that came while another was on its way in get their transfer now, one after the other. */
  async #awaitTurn(): Promise<void> {
    const deadline = this.#desk.work.now() + this.#plan.timeouts.ackMs
    while (!this.#running) {
      try {
        await this.#begin(this.#opened().path)
      } catch (thrown) {
        const again =
          thrown instanceof NodeError && thrown.code === 'conflict' && this.#desk.work.now() < deadline
        if (!again) throw thrown
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }

  async #put(whole: { size: number; sha256: string }): Promise<void> {
    const running = this.#run()
    const path = await this.#unwrap(whole)
    if (this.#plan.channel.keyExchangeChannel) return this.#propose(path)
    await this.#preScript(path)
    this.#record.position = whole.size
    await placeWhole(running, this.#record, path, this.#inbound)
    await recordPlaced(running, this.#record, this.#opened().path)
  }

  #run(): Running {
    if (!this.#running) throw new Error('a reception is finished before it has a transfer')
    return this.#running
  }

  /** The local form of the file, synced, beside the received one; the received one itself where they are the same. */
  async #unwrap(whole: { size: number; sha256: string }): Promise<string> {
    const { work, capabilities } = this.#desk
    const received = this.#opened().path
    this.#record.wireHash = await wireHash(received, whole.sha256, this.#offer.envelope?.suite)
    const wire = {
      plan: this.#plan,
      directory: this.#inbound.directory,
      capabilities,
      codePage: work.codePage,
    }
    const steps = incomingSteps(wire, this.#offer)
    if (steps.length === 0) {
      Object.assign(this.#record, { size: whole.size, hash: whole.sha256 })
      return received
    }
    const path = `${received}.out`
    await using source = await FileSource.open(received)
    const size = await stage(piecesOf(source, this.#run().signal), steps, path)
    await using local = await FileSource.open(path)
    Object.assign(this.#record, { size, hash: await local.finish() })
    return path
  }

  async #preScript(path: string): Promise<void> {
    const script = this.#plan.channel.integrations?.preReceptionFile
    if (!script) return
    const { name, size, hash } = this.#record
    await runStep(this.#run(), 'preReception', script, { name, path, size, hash })
  }

  async #propose(path: string): Promise<void> {
    const { work } = this.#desk
    const { held, transfer, plan } = this.#run()
    const { pem, fingerprint } = proposedKey(await readFile(path))
    const now = work.now()
    await work.store.write(async (tx) => {
      await requireHeld(tx, work.store.dialect, held)
      await tx
        .insertInto('key_proposal')
        .values({
          id: newId(now),
          contact_id: plan.contact.id,
          channel_code: plan.code,
          pem,
          fingerprint,
          received_at: now,
          accepted_at: null,
        })
        .execute()
      await addHistory(tx, plan.code, [{ at: now, event: 'KEY_RECEIVED', detail: fingerprint }])
      await updateFile(tx, held, this.#record.index, {
        phase: 'PLACED',
        size: this.#record.size,
        hash: this.#record.hash,
      })
      if (namesOneFile(this.#key)) await putReceived(tx, this.#key, transfer.id, this.#record.size ?? 0)
      await removePartial(tx, this.#key)
    })
    this.#record.phase = 'PLACED'
    await rm(path, { force: true })
    await rm(this.#opened().path, { force: true })
  }

  #finishLater(): void {
    const running = this.#run()
    if (this.#joined) return
    const { background, release, capabilities } = this.#desk
    const finishing = finishReception(running, capabilities.receipts).finally(() => release(running.held))
    background(this.#plan.contact.id, finishing)
  }

  async abandon(reason: unknown, keep: boolean): Promise<void> {
    const { work, release } = this.#desk
    const file = this.#file
    const cancelled = reason instanceof NodeError && reason.code === 'cancelled'
    if (file && keep && !cancelled && this.#key.date !== '') await file.keepAll().catch(() => {})
    await file?.close()
    // Whoever holds the transfer now may be at the same file.
    const lost = reason instanceof NodeError && reason.code === 'lease_lost'
    const bad =
      reason instanceof NodeError && (reason.code === 'bad_signature' || reason.code === 'bad_envelope')
    if (file && !lost && (!keep || cancelled || this.#key.date === '')) {
      if (bad && this.#running) await quarantine(work, this.#running.transfer.id, this.#offer.name, file.path)
      await rm(file.path, { force: true })
      await rm(`${file.path}.out`, { force: true })
      await work.store.write((tx) => removePartial(tx, this.#key))
    }
    if (!this.#running || this.#joined) return
    const { held } = this.#running
    await failReception(this.#running, reason).catch((thrown: unknown) =>
      work.log.warn({ err: thrown, transfer: held.id }, 'a failed reception could not be recorded'),
    )
    release(held)
  }
}

function newRecord(offer: Offer, inbound: Inbound): TransferFileRecord {
  return {
    index: 0,
    directory: inbound.directoryIndex,
    name: offer.name,
    path: '',
    size: offer.size ?? null,
    modifiedAt: null,
    hash: null,
    phase: 'MOVING',
    position: 0,
    keyName: offer.key.name,
    keyDate: offer.key.date,
    keyTime: offer.key.time,
    stagedPath: null,
    wireHash: null,
    receipt: 'NONE',
    actionPost: null,
    pathPost: null,
  }
}

function progressFor(running: Running, file: TransferFileRecord, offer: Offer): (position: number) => void {
  const { work, transfer } = running
  const size = offer.size ?? 0
  const meter = makeProgress(
    work.publish,
    {
      transferId: transfer.id,
      channelCode: transfer.channelCode,
      direction: 'RECEPCION',
      totalBytes: size,
      totalFiles: 1,
      filesDone: 0,
      bytesDone: 0,
      startAt: new Map([[file.index, file.position]]),
    },
    (octets) => work.counted('RECEPCION', octets),
  )
  return (position) => meter.moved({ index: file.index, name: file.name, size }, position)
}

/** The hash a receipt must show: of the bytes as transmitted, by the suite's digest. */
async function wireHash(path: string, sha256: string, suite: string | undefined): Promise<string> {
  const digest = suiteOf(suite ?? '')?.digest ?? 'sha256'
  if (digest === 'sha256') return sha256
  const hash = createHash(digest)
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer)
  return hash.digest('hex')
}
