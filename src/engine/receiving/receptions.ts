// The receptions that this engine has under way, at most one for each channel, as the database has it. A file that comes
// joins the one of its channel or begins it. If neither can be (it is ending, it began under other terms, another node
// has one), the file waits: whoever has the channel is asked to let go of it after the files under way, and everybody
// who waits is told when that has happened. Nobody looks again and again. Only a message that got lost between two nodes
// is made up for by a look after a while.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { parkClaim } from '../../store/transfers/leases.ts'
import type { Held } from '../../store/transfers/leases.ts'
import { putHalfFile } from '../../store/transfers/receptions.ts'
import { insertFiles, markEncrypted } from '../../store/transfers/transfers.ts'
import type { EngineContext } from '../engine-context.ts'
import { announce } from '../events.ts'
import { writeHeld } from '../held-writes.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import type { Offer, Reach } from '../transports/transport.ts'
import { beginReception } from './begin-reception.ts'
import { endReception, restReception } from './end-reception.ts'
import { fileKeyOf, requireNew } from './incoming-record.ts'
import { Reception } from './reception.ts'
import type { OpenFile } from './reception.ts'
import { isUnavailable, waitsForDisk } from './refusal.ts'

/** A message between nodes may be lost. */
const LOST_MESSAGE_MS = 1000

/** A file that wants to become part of a reception. */
export type Entering = {
  channel: ChannelRecord
  snapshot: string
  plan: TransferPlan
  offer: Offer
  record: TransferFileRecord
  /** Where its bytes go. */
  path: string
  file: OpenFile
  /** Its row may wait until it is whole: if the line or the node breaks before, the partner begins anew. */
  rowLater: boolean
}

/** `written`: the file has its row. */
export type Entered = { reception: Reception; written: boolean }

export type ReceptionParts = {
  context: EngineContext
  /** The engine keeps the lease of a transfer from now on, and stops it by this signal. */
  hold: (held: Held) => AbortSignal
  release: (held: Held) => void
  /** Work that the engine waits for when it stops. */
  background: (contactId: string, running: Promise<void>) => void
  /** Asks the other nodes to let go of a channel. */
  askNodes: (channelCode: string) => void
}

export class Receptions {
  readonly #parts: ReceptionParts
  readonly #open = new Map<string, Promise<Reception>>()
  readonly #known = new Set<Reception>()
  /** Those whose end is being written. */
  readonly #ends = new Map<Reception, Promise<void>>()
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(parts: ReceptionParts) {
    this.#parts = parts
  }

  /** The file gets its index, and its row. Throws `conflict` while the channel is taken: see `whenFree`. */
  async enter(entering: Entering): Promise<Entered> {
    const { channel, snapshot, offer } = entering
    const terms = { snapshot, openedBy: offer.reach.openedBy }
    for (;;) {
      const known = this.#open.get(channel.code)
      if (!known) return { reception: await this.#begin(entering), written: true }
      // If it could not begin, this file tries for itself.
      const reception = await known.catch(() => undefined)
      if (!reception) continue
      if (!reception.takes(terms)) throw taken(channel.code)
      if (entering.rowLater && (reception.encrypted || !isEncrypted(offer))) {
        entering.record.index = reception.enter(entering.file, offer.reach, offer.size ?? 0)
        return { reception, written: false }
      }
      if (await this.#join(reception, entering)) return { reception, written: true }
    }
  }

  async #begin(entering: Entering): Promise<Reception> {
    const { channel } = entering
    const { code } = channel
    const beginning = this.#make(entering)
    this.#open.set(code, beginning)
    try {
      return await beginning
    } catch (thrown) {
      if (this.#open.get(code) === beginning) this.#open.delete(code)
      throw thrown
    }
  }

  async #make({ channel, snapshot, plan, offer, record, path, file }: Entering): Promise<Reception> {
    const { context, hold } = this.#parts
    record.index = 0
    const { transfer, held } = await beginReception(context, channel, record, offer, path)
    transfer.files = []
    const running = { context, transfer, held, plan, signal: hold(held), unsaid: [] }
    const terms = { snapshot, openedBy: offer.reach.openedBy }
    const reception = new Reception(running, terms, isEncrypted(offer))
    reception.enter(file, offer.reach, offer.size ?? 0)
    this.#known.add(reception)
    void reception.quiet.then(() => this.#end(reception))
    announce(context, transfer, 'IN_PROGRESS')
    return reception
  }

  /** False: the reception was reset or taken over, and that was not known here yet. */
  async #join(reception: Reception, entering: Entering): Promise<boolean> {
    const { channel, offer, record, path, file } = entering
    const { context } = this.#parts
    const { held, transfer } = reception.running
    const encrypts = isEncrypted(offer) && !reception.encrypted
    record.index = reception.enter(file, offer.reach, offer.size ?? 0)
    const key = fileKeyOf(channel.code, record)
    try {
      await writeHeld(context.store, held, async (tx) => {
        await requireNew(tx, key)
        await insertFiles(tx, transfer.id, [record])
        if (key.date !== '') await putHalfFile(tx, key, { path, position: record.position }, context.now())
        if (encrypts) await markEncrypted(tx, transfer.id)
      })
    } catch (thrown) {
      const code = thrown instanceof NodeError ? thrown.code : ''
      const lost = code === 'cancelled' || code === 'lease_lost'
      if (lost) {
        reception.refuse(thrown)
        this.#forget(reception)
        reception.close()
      }
      reception.leave(file)
      if (lost) return false
      throw thrown
    }
    if (encrypts) reception.encrypted = true
    return true
  }

  /** A fetch that somebody asked for: what comes for its channel goes into its transfer. The caller ends it. */
  adopt(running: RunningTransfer): Reception {
    const reception = new Reception(running, undefined, running.transfer.encryption)
    const { channelCode } = running.transfer
    const open = Promise.resolve(reception)
    this.#open.set(channelCode, open)
    this.#known.add(reception)
    void reception.quiet.then(() => this.#forget(reception))
    return reception
  }

  /** Somebody asked for what the partner has for the channel. */
  isFetched(channelCode: string): boolean {
    for (const one of this.#known)
      if (one.isFetch && one.running.transfer.channelCode === channelCode) return true
    return false
  }

  #forget(reception: Reception): void {
    const { channelCode } = reception.running.transfer
    if (!this.#known.delete(reception)) return
    this.#open.delete(channelCode)
  }

  #end(reception: Reception): void {
    const { context, release, background } = this.#parts
    const { running, refused, leaving, postponed } = reception
    const { held, transfer } = running
    const unsure = isUnavailable(refused?.reason) && !context.stopping.aborted
    const ending = (
      leaving.aborted || unsure || postponed !== undefined
        ? leave(running, leaving.reason ?? refused?.reason ?? postponed)
        : endReception(running, refused)
    )
      .catch((thrown: unknown) =>
        context.log.warn({ err: thrown, transfer: held.id }, 'the end of a reception could not be recorded'),
      )
      .then(() => {
        release(held)
        this.#forget(reception)
        this.freed(transfer.channelCode)
      })
      .finally(() => this.#ends.delete(reception))
    this.#ends.set(reception, ending)
    background(running.plan.contact.id, ending)
  }

  /** Resolves when the end of a reception that is quiet is written. One that is fetched is ended by its fetch. */
  async over(reception: Reception | undefined): Promise<void> {
    if (!reception || reception.isFetch) return
    await reception.quiet
    await this.#ends.get(reception)
  }

  /** Resolves when every reception that takes no more files, and has none under way, has ended. */
  async ended(): Promise<void> {
    for (;;) {
      const closing = [...this.#known].filter((one) => one.isEnding && !one.isFetch)
      if (closing.length === 0) return
      await Promise.all(closing.map((one) => this.over(one)))
    }
  }

  /** The partner has given the turn in that session, or ended it. */
  sessionDone(from: Reach): void {
    for (const reception of this.#known) reception.sessionDone(from)
  }

  /** The node stops: what has no file under way ends now, the rest with its last file. */
  closeAll(): void {
    for (const reception of this.#known) reception.letGo()
  }

  /**
   * Asks whoever has the channel to let go of it. Resolves when that may have happened. To be asked before the try that
   * may fail, so that it is not missed.
   */
  whenFree(channelCode: string): { promise: Promise<void>; ask: () => void; done: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>()
    const some = this.#waiting.get(channelCode) ?? new Set()
    this.#waiting.set(channelCode, some.add(resolve))
    let timer: NodeJS.Timeout | undefined
    return {
      promise,
      ask: () => {
        timer = setTimeout(resolve, LOST_MESSAGE_MS)
        this.letGo(channelCode)
        if (!this.#open.has(channelCode)) this.#parts.askNodes(channelCode)
      },
      done: () => {
        clearTimeout(timer)
        some.delete(resolve)
        if (some.size === 0 && this.#waiting.get(channelCode) === some) this.#waiting.delete(channelCode)
      },
    }
  }

  /** A file waits for the channel, here or on another node. */
  letGo(channelCode: string): void {
    for (const reception of this.#known)
      if (reception.running.transfer.channelCode === channelCode) reception.letGo()
  }

  /** A reception of the channel is over, here or on another node. */
  freed(channelCode: string): void {
    for (const resolve of this.#waiting.get(channelCode) ?? []) resolve()
  }
}

/** For whoever claims it next: at once, or when its disk may be sound again. */
async function leave(running: RunningTransfer, reason: unknown): Promise<void> {
  const { context, held } = running
  const waits = waitsForDisk(reason)
  if (waits !== undefined) return restReception(running, waits)
  await context.store.write((tx) => parkClaim(tx, held, context.now()))
}

function isEncrypted({ encryptedSession, envelope }: Offer): boolean {
  return encryptedSession || envelope?.encrypted === true
}

function taken(code: string): NodeError {
  return new NodeError('conflict', `a reception of channel ${code} is already pending or in progress`)
}
