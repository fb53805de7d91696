// For tests alone: an engine that keeps files in memory. It stands for the real one at a session's upper edge, so that
// the protocol can be run end to end without channels or a store.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { NodeError } from '../../../src/errors.ts'
import type {
  Admission,
  Caller,
  Incoming,
  Offer,
  OwedReceipt,
  Receipt,
  Session,
  SessionHost,
} from '../../../src/engine/transports/transport.ts'
import type { Oftp2Settings } from '../../../src/contract/contact-settings.ts'
import type { Reach, Reached } from '../../../src/engine/transports/transport.ts'

export type StoredFile = { offer: Offer; bytes: Buffer; complete: boolean; size: number }

const keyOf = (offer: Offer): string => `${offer.key.name} ${offer.key.date} ${offer.key.time}`

export class TrialHost implements SessionHost {
  readonly partners = new Map<string, Admission<Oftp2Settings>>()
  readonly files = new Map<string, StoredFile>()
  readonly receipts: Receipt[] = []
  readonly owed: OwedReceipt[] = []
  readonly refusals: { caller: Caller; reason: string }[] = []
  readonly sessions: Session[] = []
  readonly abandoned: { reason: unknown; keep: boolean }[] = []
  turns = 0
  /** Files on their way in that were neither completed nor abandoned. */
  unsettled = 0
  /** Called before the host does its own part; may wait, or throw what an engine would. */
  before: { [K in 'admit' | 'offer' | 'write' | 'complete' | 'receipt']?: () => Promise<void> | void } = {}
  onTurn: (session: Session) => Promise<void> = async () => undefined
  /** Owe a receipt for each file received, as an engine does. */
  acknowledges = false

  async admit<Settings>(caller: Caller): Promise<Admission<Settings>> {
    await this.before.admit?.()
    const partner = this.partners.get(caller.id)
    if (partner === undefined) throw new NodeError('login_refused', `${caller.id} is not known`)
    // The only settings there are in these tests.
    return partner as Admission<Settings>
  }

  isKnown(): boolean {
    return true
  }

  async proven(): Promise<void> {}

  async attempt<T>(_caller: Caller, check: () => Promise<T | undefined>): Promise<T | undefined> {
    return check()
  }

  async reached(): Promise<Reached> {
    return { applications: [], ways: 'B' }
  }

  opened(session: Session): void {
    this.sessions.push(session)
  }

  async turn(session: Session): Promise<void> {
    this.turns += 1
    await this.onTurn(session)
  }

  async offer(offer: Offer): Promise<Incoming> {
    await this.before.offer?.()
    const found = this.files.get(keyOf(offer))
    if (found?.complete === true) throw new NodeError('duplicate_file', `${offer.name} was received before`)
    const file = found ?? { offer, bytes: Buffer.alloc(0), complete: false, size: 0 }
    this.files.set(keyOf(offer), file)
    const position = Math.min(file.size, offer.restartFrom)
    file.size = position
    return this.#incoming(file, position)
  }

  #incoming(file: StoredFile, position: number): Incoming {
    this.unsettled += 1
    return {
      position,
      read: async (into, at) => file.bytes.copy(into, 0, at, Math.min(file.size, at + into.length)),
      truncate: async (length) => {
        assert.ok(length <= file.size, 'a file grows by writing alone')
        file.size = length
      },
      write: async (chunk, at) => {
        await this.before.write?.()
        assert.equal(at, file.size, 'each octet is written once, in order')
        if (at + chunk.length > file.bytes.length) {
          const larger = Buffer.alloc(Math.max(4096, 2 * (at + chunk.length)))
          file.bytes.copy(larger, 0, 0, file.size)
          file.bytes = larger
        }
        file.bytes.set(chunk, at)
        file.size = Math.max(file.size, at + chunk.length)
      },
      rename: () => Promise.reject(new Error('OFTP2 renames nothing')),
      complete: async ({ size }) => {
        this.unsettled -= 1
        await this.before.complete?.()
        if (size !== file.size) throw new NodeError('internal', `${size} octets announced, ${file.size} here`)
        file.complete = true
        if (this.acknowledges) this.#owe(file)
      },
      abandon: async (reason, keep) => {
        this.unsettled -= 1
        this.abandoned.push({ reason, keep })
        if (!keep) file.size = 0
      },
    }
  }

  #owe(file: StoredFile): void {
    const { key, contactId, receiptDigest } = file.offer
    const partner = [...this.partners.values()].find((one) => one.contactId === contactId)
    this.owed.push({
      id: `${this.owed.length}`,
      key,
      positive: true,
      reason: '',
      reasonCode: '',
      hash: receiptDigest ? createHash(receiptDigest).update(contentOf(file)).digest('hex') : undefined,
      signed: receiptDigest !== undefined,
      originator: partner?.remoteId ?? '',
      destination: partner?.localId ?? '',
    })
  }

  async receipt(_: Reach, receipt: Receipt): Promise<void> {
    await this.before.receipt?.()
    this.receipts.push(receipt)
  }

  async receiptsOwed(): Promise<OwedReceipt[]> {
    return [...this.owed]
  }

  async receiptDelivered(id: string): Promise<void> {
    this.owed.splice(
      this.owed.findIndex((one) => one.id === id),
      1,
    )
  }

  async refused(caller: Caller, reason: string): Promise<void> {
    this.refusals.push({ caller, reason })
  }

  get complete(): StoredFile[] {
    return [...this.files.values()].filter((file) => file.complete)
  }
}

export function contentOf(file: StoredFile | undefined): Buffer {
  return file === undefined ? Buffer.from('no file') : file.bytes.subarray(0, file.size)
}
