// One file on its way in, from the offer to its place: the stages that receive-offer.ts lists, for one session's file.
//
// State: the stage it is in (below), the `.part` that the bytes go to, and, once it is part of one, the reception with its
// claim. `position` says how much of an earlier try is here.
// Moves: open -> completing -> in place -> over; from open and completing also straight to over, by `abandon`, by a
// reset, or because the same file comes again over another session. It ends once; whatever comes later is refused.
// Callers: `open` and `supersede` are for receive-offer.ts and the memory of offers. The rest is for the transport, one
// call after the other; only `abandon` may come at any time.

import { randomUUID } from 'node:crypto'
import { copyFile, rename, rm, stat } from 'node:fs/promises'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError, naming } from '../../errors.ts'
import { requireHeld, updateFile } from '../../store/transfers/leases.ts'
import { findHalfFile, putHalfFile } from '../../store/transfers/receptions.ts'
import type { FileKey } from '../../store/transfers/receptions.ts'
import { writeHeld } from '../held-writes.ts'
import { restartPoints } from '../staging/restart-points.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { chooseInbound, refuseUnfit } from './route-offer.ts'
import type { Agreed, Inbound } from './route-offer.ts'
import { goOnFrom } from './part-file.ts'
import type { Part, Whole } from './part-file.ts'
import { proposeKey } from './propose-key.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import type { ReceivingContext } from './receiving-context.ts'
import { newRecord } from './incoming-record.ts'
import { abandonFile, isHereAlready } from './abandon-file.ts'
import type { Abandoned } from './abandon-file.ts'
import { finishFile } from './finish-file.ts'
import type { Reception } from './reception.ts'
import { isConflict, isUnavailable, leftToNext, throwUnlessTaken, waitedTooLong } from './refusal.ts'
import { placeWhole, quickOctets, recordPlaced, runBeforePlacing } from './place-file.ts'
import { openPart } from './small/small-part.ts'
import { isQuick, localPath, removeReceived } from '../staging/staging.ts'
import type { Incoming, Offer } from '../transports/transport.ts'
import { unwrap } from './unwrap.ts'

/** open: bytes come. completing: the partner said that is all. in place: under its real name. over: nothing more. */
type Stage = 'open' | 'completing' | 'in place' | 'over'

export class IncomingFile implements Incoming {
  position = 0
  #stage: Stage = 'open'
  #opening = Promise.resolve()
  readonly #ended = Promise.withResolvers<void>()
  readonly #receiving: ReceivingContext
  #offer: Offer
  readonly #plan: TransferPlan
  readonly #snapshot: string
  #inbound: Inbound
  readonly #key: FileKey
  #file: Part | undefined
  #came: Whole | undefined
  #reception: Reception | undefined
  #record: TransferFileRecord
  /** What is durable of it, as place-file.ts goes on with it. */
  readonly #come = { written: false, half: false, placed: false }

  constructor(receiving: ReceivingContext, offer: Offer, { plan, snapshot, inbound, key }: Agreed) {
    this.#receiving = receiving
    this.#offer = offer
    this.#plan = plan
    this.#snapshot = snapshot
    this.#inbound = inbound
    this.#key = key
    this.#record = newRecord(offer, inbound)
  }

  open(): Promise<void> {
    return (this.#opening = this.#open())
  }

  async #open(): Promise<void> {
    if (!this.isAlive) throw new NodeError('connection_lost', `${this.#offer.name} was offered anew`)
    const { context } = this.#receiving
    const half = this.#key.date === '' ? undefined : await findHalfFile(context.store.db, this.#key)
    const there = half && (await stat(half.path).catch(() => undefined))
    const quick = half ? undefined : quickOctets(this.#offer, this.#plan, this.#record)
    const { staging } = context
    const path =
      quick === undefined ? await staging.incoming(randomUUID()) : staging.incomingQuick(randomUUID())
    context.staging.inHand(path, this.over)
    // Never beyond the end of the half file: that would leave a hole of zeros.
    this.position = half && there ? Math.min(half.position, this.#offer.restartFrom, there.size) : 0
    this.#record.position = this.position
    if (await this.#beginsNow(path)) {
      if (half && there) {
        if (!(await goOnFrom(half.path, path, rename))) this.position = 0
        await rm(localPath(half.path), { force: true })
      }
    } else {
      if (half && there && !(await goOnFrom(half.path, path, copyFile))) this.position = 0
      this.#come.half = true
      const partial = { path, position: this.position }
      if (this.#key.date !== '')
        await context.store.write((tx) => putHalfFile(tx, this.#key, partial, context.now()))
    }
    try {
      const every = restartPoints(this.#plan, this.#inbound.directory)
      const checkpoint = (position: number) => this.#keep(position)
      const { position } = this
      this.#file = await openPart(path, this.#receiving.together, { quick, position, every, checkpoint })
    } catch (thrown) {
      await this.abandon(thrown, false)
      throw thrown
    }
    const signal = this.#reception?.running.signal
    if (signal?.aborted) this.stopped(signal.reason)
  }

  /** It is not received after all: nobody is to wait for it. */
  async forget(reason?: unknown): Promise<void> {
    if (this.#reception) await this.abandon(reason, false)
    else if (this.#stage === 'open') this.#end()
  }

  /**
   * False: it becomes part of a reception later, when it is whole. That is so for a file that the one under way cannot
   * take, and for one whose final name is not known yet: it must not keep the channel busy until then.
   */
  async #beginsNow(path: string): Promise<boolean> {
    if (this.#offer.provisional) return false
    const free = this.#receiving.receptions.whenFree(this.#key.channelCode)
    try {
      await this.#begin(path)
      return true
    } catch (thrown) {
      if (!isConflict(thrown)) throw thrown
      free.ask()
      return false
    } finally {
      free.done()
    }
  }

  /** Reset, lost or draining. Here the file is over at once. The partner hears of it at its next octet. */
  stopped(reason: unknown): void {
    if (this.#stage !== 'open' || !this.#file) return
    const keep = reason instanceof NodeError && reason.code === 'unavailable'
    this.#receiving.background(this.#plan.contact.id, this.abandon(reason, keep))
  }

  /** The partner offers the same file over another session, so this one is dead, whatever its socket says. */
  async supersede(): Promise<void> {
    // What is half open could not be put away.
    await this.#opening.catch(() => {})
    if (this.#stage === 'open')
      await this.abandon(new NodeError('connection_lost', `${this.#offer.name} was offered anew`), true)
    await this.#ended.promise
  }

  /** It comes, or is here and not settled yet; false while it is being given up. */
  get isAlive(): boolean {
    return this.#stage !== 'over'
  }

  get over(): Promise<void> {
    return this.#ended.promise
  }

  async #begin(path: string): Promise<void> {
    const { reception, written } = await this.#receiving.receptions.enter({
      channel: this.#inbound.channel,
      snapshot: this.#snapshot,
      plan: this.#plan,
      offer: this.#offer,
      record: this.#record,
      path,
      file: this,
      rowLater: isQuick(path),
    })
    this.#reception = reception
    this.#come.written = written
    this.#come.half ||= written
    reception.progress.begins(this.#record.index, this.#record.position)
  }

  #running(): RunningTransfer | undefined {
    return this.#reception && { ...this.#reception.running, plan: this.#plan }
  }

  read(into: Uint8Array, position: number): Promise<number> {
    return this.#opened().read(into, position)
  }

  truncate(length: number): Promise<void> {
    this.position = Math.min(this.position, length)
    return this.#opened().truncate(length)
  }

  async write(chunk: Uint8Array, position: number): Promise<void> {
    this.#requireOpen()
    await this.#opened().write(chunk, position)
    const { index, name } = this.#record
    this.#reception?.progress.moved({ index, name, size: this.#offer.size ?? 0 }, position + chunk.length)
  }

  async rename(name: string): Promise<void> {
    this.#requireOpen()
    const { context, capabilities } = this.#receiving
    const offer: Offer = { ...this.#offer, name, provisional: false }
    const inbound = await chooseInbound(context, offer, capabilities)
    if (inbound.channel.code !== this.#inbound.channel.code)
      throw new NodeError('conflict', `${name} belongs to another channel than what it was sent as`)
    refuseUnfit(capabilities, offer, this.#plan, inbound, context.policy)
    const { directoryIndex: directory } = inbound
    const changes = { name, ...(directory !== null && { directory }) }
    const running = this.#running()
    if (running && this.#come.written)
      await writeHeld(context.store, running.held, (tx) =>
        updateFile(tx, running.held, this.#record.index, changes),
      )
    Object.assign(this.#record, changes)
    this.#offer = offer
    this.#inbound = inbound
  }

  #opened(): Part {
    if (!this.#file) throw new Error('a reception is used before it is open')
    return this.#file
  }

  async #keep(position: number): Promise<void> {
    if (this.#key.date === '') return
    this.#come.half = true
    const { context } = this.#receiving
    await context.store.write(async (tx) => {
      if (this.#reception) await requireHeld(tx, context.store.dialect, this.#reception.running.held)
      await putHalfFile(tx, this.#key, { path: this.#opened().path, position }, context.now())
    })
  }

  async complete(end: { size: number; sha256?: string }): Promise<void> {
    this.#requireOpen()
    this.#stage = 'completing'
    try {
      if (await this.#put(await this.#whole(end))) return this.#settle()
    } catch (thrown) {
      if (await isHereAlready(this.#abandoned(), thrown, this.#came)) return this.#end()
      const unsure = this.#reception !== undefined && isUnavailable(thrown)
      if (this.#come.placed || unsure)
        return throwUnlessTaken(await this.#leaveToNext(thrown), this.#key, this.#come.placed)
      // What waited in vain for its channel comes again, and need not travel twice.
      await this.abandon(thrown, !this.#reception && (isConflict(thrown) || isUnavailable(thrown)))
      // It may have become part of a reception while it was being abandoned.
      this.#reception?.refuse(naming(thrown, this.#record.name))
      this.#reception?.leave(this)
      throw thrown
    }
    this.#finish()
    this.#end()
  }

  async #whole(end: { size: number; sha256?: string }): Promise<Whole> {
    const { name } = this.#offer
    const whole = (this.#came = await this.#opened().finish())
    await this.#awaitTurn()
    if (whole.size !== end.size)
      throw new NodeError('connection_lost', `${name}: ${whole.size} octets came of ${end.size}`)
    if (end.sha256 !== undefined && end.sha256 !== whole.sha256)
      throw new NodeError('hash_mismatch', `${name}: SHA-256 sent ${end.sha256}, arrived ${whole.sha256}`)
    return whole
  }

  #requireOpen(): void {
    this.#reception?.running.signal.throwIfAborted()
    if (this.#stage !== 'open') throw new NodeError('connection_lost', `${this.#offer.name} is over`)
  }

  #end(): void {
    this.#stage = 'over'
    this.#reception?.leave(this)
    this.#ended.resolve()
  }

  /**
   * The file is here, but the database does not answer, or the disk does not take that the file has its name. The file must
   * not be taken back and must not count as failed, and another node may be working on it already. Whoever claims the
   * transfer next goes on from where it stands. Returns what the partner is told: to ask again later.
   */
  async #leaveToNext(reason: unknown): Promise<unknown> {
    await this.#file?.close()
    const { context } = this.#receiving
    context.log.warn(
      { err: reason, transfer: this.#run().transfer.id },
      'a received file is here but that could not be recorded',
    )
    const told = leftToNext(this.#record.name, reason)
    this.#reception?.refuse(naming(told, this.#record.name))
    this.#reception?.leaveToNext(told)
    this.#end()
    return told
  }

  /** Waits for a place in the channel, where the reception under way could not take it: a transfer tells of refused files too. */
  async #awaitTurn(): Promise<void> {
    const { context, receptions } = this.#receiving
    const deadline = context.now() + this.#plan.timeouts.ackMs
    while (!this.#reception) {
      const free = receptions.whenFree(this.#key.channelCode)
      try {
        await this.#begin(this.#opened().path)
      } catch (thrown) {
        if (!isConflict(thrown) || context.now() >= deadline) throw waitedTooLong(thrown, this.#offer)
        free.ask()
        await free.promise
        if (!this.isAlive) throw new NodeError('connection_lost', `${this.#offer.name} is over`)
      } finally {
        free.done()
      }
    }
  }

  /** True: what is left to do for it is done after the acknowledgement. */
  async #put({ size, sha256 }: Whole): Promise<boolean> {
    const running = this.#run()
    const received = { path: this.#opened().path, size, sha256 }
    const { path, ...known } = await unwrap(this.#receiving, running, this.#inbound, this.#offer, received)
    Object.assign(this.#record, known, { position: size })
    if (this.#record.content === 'CERTIFICATE') {
      await proposeKey(running, this.#record, path)
      await removeReceived(received.path)
      return false
    }
    await runBeforePlacing(running, this.#record, path)
    await placeWhole(running, this.#record, path, this.#inbound, this.#come)
    this.#come.placed = true
    this.#stage = 'in place'
    if (isQuick(path)) return true
    await recordPlaced(running, this.#record, received.path, this.#receiving.capabilities.receipts)
    return false
  }

  /** In place, and acknowledged by whoever waits for `complete`. Its last row is written with that of others. */
  #settle(): void {
    const { background, capabilities } = this.#receiving
    const { path } = this.#opened()
    const reception = this.#reception
    reception?.progress.fileDone(this.#record.index, this.#record.position)
    const settling = reception?.settling
      .add(this.#run(), this.#record, path, capabilities.receipts)
      .catch(async (thrown: unknown) => {
        // After a reset nobody asks any more.
        if (thrown instanceof NodeError && thrown.code === 'cancelled') await removeReceived(path)
        await this.#leaveToNext(thrown)
      })
      .finally(() => this.#end())
    if (settling) background(this.#plan.contact.id, settling)
  }

  #run(): RunningTransfer {
    const running = this.#running()
    if (!running) throw new Error('a file is finished before it is part of a reception')
    return running
  }

  /** Acted upon at once, beside what comes next. */
  #finish(): void {
    const running = this.#run()
    const record = this.#record
    this.#reception?.progress.fileDone(record.index, record.position)
    if (record.phase !== 'PLACED') return
    const { background, capabilities } = this.#receiving
    const acting = this.#reception?.act(() =>
      finishFile(running, record, capabilities.receipts).catch((thrown: unknown) => {
        throw naming(thrown, record.name)
      }),
    )
    if (acting) background(this.#plan.contact.id, acting)
  }

  #abandoned(): Abandoned {
    return {
      receiving: this.#receiving,
      key: this.#key,
      offer: this.#offer,
      record: this.#record,
      file: this.#file,
      reception: () => this.#reception,
      written: () => this.#come.written,
    }
  }

  async abandon(given: unknown, keep: boolean): Promise<void> {
    if (this.#stage === 'in place' || this.#stage === 'over') return
    this.#stage = 'over'
    try {
      await abandonFile(this.#abandoned(), given, keep)
    } finally {
      // Only now: if the same file is offered again, it needs what was kept here, and a free channel.
      const last = this.#reception?.endsWithout(this) === true
      this.#reception?.leave(this)
      if (last) await this.#receiving.receptions.over(this.#reception)
      this.#end()
    }
  }
}
