// Small files that travel as they lie are made ready by the dozen, before a line takes them: checked, read and hashed in a
// thread of their own, and noted in one write (3 of send-files.ts). What has arrived is recorded by the dozen, too (4).
// So a small file costs no durable moment of its own. The order of writes is that of send-files.ts. Where there is something
// to be done with a file that has arrived, or a receipt to be waited for, its turn lasts until that is recorded.
//
// What is not ready (changed, unreadable) goes the usual way, and tells its fault there. So does a file that is handed back
// by a line that broke: it is noted that it may be there.
//
// State: the batches, each begun when a line asks for the first of its files, or for one of the batch before; what has
// arrived and is not recorded yet; the look at the claim that is about to be made.

import { dirname } from 'node:path'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { fileRootsOf } from '../../domain/file-roots.ts'
import { confined } from '../../files/roots.ts'
import { filesToSend } from '../../files/small/copies.ts'
import { requireHeldNow } from '../../store/transfers/leases.ts'
import type { ProgressMeter } from '../events.ts'
import { noteEncryption } from '../staging/note-encryption.ts'
import { READ_AHEAD_OCTETS } from '../staging/read-ahead.ts'
import { outgoingForm } from '../staging/wire-form.ts'
import { endsOf, wantsCompression } from '../transfer-plan.ts'
import type { PushProgress, PushResult, RecordFormat, Session, Source } from '../transports/transport.ts'
import { directoryOf, isNotPlaced, wantsReceipt, wantsSignedReceipt } from './emission.ts'
import type { Emission } from './emission.ts'
import type { FailedFiles } from './failed-files.ts'
import { arrivedChanges, hasAction, record, recordAll, remember } from './file-record.ts'
import { isPlain } from './prepare-file.ts'
import { NOT_PLACED, requireSameHash } from './push-progress.ts'
import { actOnSent, isUnconfirmed } from './sent-action.ts'

/** Fewer go as fast one by one. */
const MANY = 8
const BATCH = 64
const BATCH_OCTETS = 1024 * 1024
/** What has arrived waits so long for company, or until so many have. */
const RECORD_AFTER_MS = 40
const RECORD_TOGETHER = 64

type Batch = {
  files: readonly TransferFileRecord[]
  next?: Batch
  ready?: Promise<Map<TransferFileRecord, Ready>>
  /** What `ready` has resolved to, but for those that were taken. */
  all?: Map<TransferFileRecord, Ready>
}

/** In memory and noted. `goes`: its line has it; `placed`: it may be visible there. */
type Ready = {
  source: Source
  sha256: string
  format: RecordFormat
  /** What its row said before it was noted. */
  before: Pick<TransferFileRecord, 'receipt' | 'wireHash'>
  state: 'goes' | 'placed'
}

type Arrived = {
  file: TransferFileRecord
  size: number
  sha256: string
  result: PushResult
  session: Session
  /** It is recorded, or why not. */
  recorded: (failure?: { thrown: unknown }) => void
}
type Parts = { progress: ProgressMeter; failed: FailedFiles }

/** Whether a file travels as it lies, is small, and nobody has begun with it; and in which format then. */
export function smallForm(emission: Emission): (file: TransferFileRecord) => RecordFormat | undefined {
  const { codePage, policy } = emission.context
  const forms = new Map<unknown, RecordFormat | undefined>()
  const formatOf = (file: TransferFileRecord) => {
    const directory = directoryOf(emission, file)
    if (!forms.has(directory)) {
      const form = outgoingForm({ ...emission, directory, codePage, policy })
      const isAsItLies = isPlain(form) && !form.check && form.suffix === '' && form.envelope === undefined
      forms.set(directory, isAsItLies ? form.format : undefined)
    }
    return forms.get(directory)
  }
  return (file) => {
    const { phase, content, size, modifiedAt, maybeVisible, position } = file
    if (phase !== 'WAITING' || content !== 'FILE' || maybeVisible || position > 0) return undefined
    if (size === null || size > READ_AHEAD_OCTETS || modifiedAt === null) return undefined
    try {
      return formatOf(file)
    } catch {
      return undefined
    }
  }
}

/** As many as are worth their own order, write and commit; of which the octets fit. */
export function byTheDozen(
  files: readonly TransferFileRecord[],
  mostOctets = Infinity,
): TransferFileRecord[][] {
  const all: TransferFileRecord[][] = []
  let octets = 0
  for (const file of files) {
    const size = file.size ?? 0
    const last = all.at(-1)
    if (last && last.length < BATCH && octets + size <= mostOctets) {
      last.push(file)
      octets += size
    } else {
      all.push([file])
      octets = size
    }
  }
  return all
}

/** A file is opened without following links, so its folder is all that may lead elsewhere. */
export function confinedFiles(
  { context, plan }: Emission,
  files: readonly TransferFileRecord[],
): TransferFileRecord[] {
  const roots = fileRootsOf(context.roots.fileRoots, plan.localRoots)
  const folders = new Set(files.map(({ path }) => dirname(path)))
  const inside = new Set([...folders].filter((folder) => confined(folder, roots) !== undefined))
  return files.filter(({ path }) => inside.has(dirname(path)))
}

export class SmallFiles {
  readonly #emission: Emission
  readonly #parts: Parts
  readonly #formOf: (file: TransferFileRecord) => RecordFormat | undefined
  readonly #batches = new Map<TransferFileRecord, Batch>()
  readonly #small: number
  #arrived: Arrived[] = []
  #unrecorded = 0
  #timer: NodeJS.Timeout | undefined
  #recording: Promise<void> = Promise.resolve()
  #look: Promise<void> | undefined

  constructor(emission: Emission, files: readonly TransferFileRecord[], parts: Parts) {
    this.#emission = emission
    this.#parts = parts
    this.#formOf = smallForm(emission)
    const scripted = emission.plan.channel.integrations?.preEmisionFile !== undefined
    // Which hash a signed receipt will show is agreed upon when its turn has come.
    const fits = !scripted && !wantsSignedReceipt(emission)
    const small = fits ? files.filter((file) => this.#formOf(file)) : []
    this.#small = small.length
    if (small.length >= MANY) this.#divide(small)
  }

  #divide(files: readonly TransferFileRecord[]): void {
    let next: Batch | undefined
    for (const some of byTheDozen(files, BATCH_OCTETS).toReversed()) {
      const batch: Batch = { files: some, ...(next && { next }) }
      for (const file of some) this.#batches.set(file, batch)
      next = batch
    }
  }

  /** So many of the files went, or are to go, this way. */
  get count(): number {
    return this.#small < MANY ? 0 : this.#small
  }

  /** What is to be done with those that have arrived takes its time. */
  get act(): boolean {
    return hasAction(this.#emission.plan) || wantsReceipt(this.#emission)
  }

  /** Undefined: it goes the usual way. */
  take(file: TransferFileRecord): Promise<Ready | undefined> | Ready | undefined {
    const batch = this.#batches.get(file)
    // One that was handed back by its line has been taken before.
    if (!batch || !this.#batches.delete(file)) return undefined
    const from = (all: Map<TransferFileRecord, Ready>) => {
      if (batch.next) this.#begin(batch.next).catch(() => {}) // heard of by whoever takes one of its files
      const ready = all.get(file)
      all.delete(file)
      return ready
    }
    return batch.all ? from(batch.all) : this.#begin(batch).then(from)
  }

  #begin(batch: Batch): Promise<Map<TransferFileRecord, Ready>> {
    return (batch.ready ??= this.#makeReady(batch.files).then((all) => (batch.all = all)))
  }

  async #makeReady(all: readonly TransferFileRecord[]): Promise<Map<TransferFileRecord, Ready>> {
    const files = confinedFiles(this.#emission, all)
    if (files.length === 0 || !filesToSend.isQuick) return new Map()
    const copied = await filesToSend.make(
      files.map(({ path, size, modifiedAt }) => ({
        from: { path, expected: { size: size ?? 0, modifiedAt: modifiedAt ?? 0 } },
        to: null,
      })),
    )
    const ready = new Map<TransferFileRecord, Ready>()
    for (const [nth, file] of files.entries()) {
      const { octets, sha256 = '' } = copied[nth] ?? {}
      const format = this.#formOf(file)
      if (!octets || !format) continue
      const { receipt, wireHash } = file
      const before = { receipt, wireHash }
      ready.set(file, { source: inMemory(octets), sha256, format, before, state: 'goes' })
    }
    await this.#note(ready)
    return ready
  }

  async #note(ready: ReadonlyMap<TransferFileRecord, Ready>): Promise<void> {
    const emission = this.#emission
    emission.signal.throwIfAborted()
    const receipt = wantsReceipt(emission) ? ({ receipt: 'AWAITED' } as const) : {}
    const noted = [...ready].map(([file, { sha256 }]) => ({
      file,
      changes: { phase: 'STAGED', maybeVisible: true, wireHash: sha256, ...receipt } as const,
    }))
    await recordAll(emission, noted)
  }

  async send(session: Session, file: TransferFileRecord, ready: Ready): Promise<void> {
    const emission = this.#emission
    const { plan, capabilities } = emission
    const { failed } = this.#parts
    const { sha256, source } = ready
    const result = await this.#push(session, file, ready)
    if (plan.verifyHash && capabilities.remoteHash && !result.found)
      requireSameHash(file, result.remoteSha256, sha256)
    const arrived = { file, size: source.size, sha256, result, session }
    if (this.act) {
      await new Promise<void>((resolve, reject) =>
        this.#arrive({ ...arrived, recorded: (failure) => (failure ? reject(failure.thrown) : resolve()) }),
      )
      emission.signal.throwIfAborted()
      if (file.phase === 'ARRIVED' && !isUnconfirmed(file)) await actOnSent(emission, file)
      return failed.oneHasGone()
    }
    this.#arrive({
      ...arrived,
      recorded: (failure) => (failure ? failed.add(file, failure.thrown) : failed.oneHasGone()),
    })
    if (this.#unrecorded >= 2 * RECORD_TOGETHER) await this.#recording
  }

  #arrive(arrived: Arrived): void {
    this.#unrecorded++
    this.#arrived.push(arrived)
    if (this.#arrived.length >= RECORD_TOGETHER) this.#record()
    else this.#timer ??= setTimeout(() => this.#record(), RECORD_AFTER_MS)
  }

  async #push(session: Session, file: TransferFileRecord, ready: Ready): Promise<PushResult> {
    const emission = this.#emission
    const { held, plan, transfer, signal } = emission
    const { source, sha256, before } = ready
    const progress: PushProgress = {
      moved: (position) =>
        this.#parts.progress.moved({ index: file.index, name: file.name, size: source.size }, position),
      safe: () => {},
      placing: (there) => {
        if (there !== undefined && plan.verifyHash) requireSameHash(file, there, sha256)
        return this.#placing(ready)
      },
    }
    const wire = {
      transferId: transfer.id,
      key: { name: file.keyName, date: file.keyDate, time: file.keyTime },
      application: plan.application,
      ends: endsOf(plan),
      name: file.name,
      source,
      format: ready.format,
      envelope: undefined,
      originalSize: source.size,
      restartFrom: 0,
      signedReceipt: false,
      compress: wantsCompression(plan),
      verify: plan.verifyHash,
      mayBeThere: false,
      attempt: held.fence,
      again: !emission.firstTry,
    }
    try {
      if (session.encrypted && !transfer.encryption) await noteEncryption(emission)
      return await session.push(wire, progress, signal)
    } catch (thrown) {
      // Must not be lost: a later attempt would take it that the file may be there.
      if (isNotPlaced(thrown)) await record(emission, file, NOT_PLACED)
      // Lost, this costs the next attempt a look.
      else if (!isPlaced(ready))
        await record(emission, file, { maybeVisible: false, ...before }).catch(() => {})
      throw thrown
    }
  }

  /**
   * What was noted ahead of its turn looked at the claim then. It may have been cancelled or taken over since, so it is looked
   * at again. Those that ask in the same moment share one look, which is made after all of them have asked.
   */
  async #placing(ready: Ready): Promise<void> {
    const { context, held, signal } = this.#emission
    signal.throwIfAborted()
    this.#look ??= Promise.resolve().then(() => {
      this.#look = undefined
      return requireHeldNow(context.store.db, held)
    })
    await this.#look
    ready.state = 'placed'
  }

  /** One write after the other: what comes meanwhile waits for the next. */
  #record(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const some = this.#arrived.splice(0)
    if (some.length > 0) this.#recording = this.#recording.then(() => this.#recordAll(some))
  }

  /** Never rejects. */
  async #recordAll(some: readonly Arrived[]): Promise<void> {
    const emission = this.#emission
    try {
      await recordAll(
        emission,
        some.map(({ file, size, sha256: hash, result }) => {
          const waits = result.receipt === 'awaited' && wantsReceipt(emission)
          // It was noted that a receipt is awaited, and it may have come since.
          const receipt = waits ? (file.receipt === 'NONE' ? 'AWAITED' : undefined) : 'NONE'
          return {
            file,
            changes: arrivedChanges(emission, { hash, wireHash: hash, size, receipt }),
            also: async (tx) => (waits ? undefined : remember(emission, { ...file, hash }, tx)),
          }
        }),
      )
      for (const { file, session } of some) {
        await session.settled?.({ name: file.keyName, date: file.keyDate, time: file.keyTime })
        this.#parts.progress.fileDone(file.index, file.size ?? 0)
      }
      for (const { recorded } of some) recorded()
    } catch (thrown) {
      for (const { recorded } of some) recorded({ thrown })
    } finally {
      this.#unrecorded -= some.length
    }
  }

  /** Resolves when all that arrived is recorded, and what was noted and never went is taken back. Never rejects. */
  async settled(): Promise<void> {
    this.#record()
    await this.#recording
    const begun = new Set([...this.#batches.values()].flatMap(({ ready }) => ready ?? []))
    for (const ready of begun) {
      const left = await ready.catch(() => new Map<TransferFileRecord, Ready>())
      const changes = [...left].map(([file, { before }]) => ({
        file,
        changes: { maybeVisible: false, ...before },
      }))
      if (changes.length > 0) await recordAll(this.#emission, changes).catch(() => {})
    }
  }
}

/** It changes while the file is pushed. */
function isPlaced({ state }: Ready): boolean {
  return state === 'placed'
}

function inMemory(octets: Uint8Array): Source {
  return {
    size: octets.length,
    octets,
    read: async (into, position) => {
      const piece = octets.subarray(position, position + into.length)
      into.set(piece)
      return piece.length
    },
  }
}
