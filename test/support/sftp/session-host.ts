// For tests: stands in for the engine behind a transport. Files land in a folder, partial ones are kept by key and
// resumed, and every step can be looked at afterwards. Nothing of the product imports it.

import { createHash } from 'node:crypto'
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'

import { NodeError } from '../../../src/errors.ts'
import type { FileKey } from '../../../src/engine/transports/file-key.ts'
import type {
  Admission,
  Caller,
  Incoming,
  Offer,
  Session,
  SessionHost,
  Source,
} from '../../../src/engine/transports/transport.ts'
import type { Reach, Reached } from '../../../src/engine/transports/transport.ts'

export interface Received {
  offer: Offer
  path: string
  size: number
}

function keyText(offer: Offer): string {
  const { name, date, time } = offer.key
  return createHash('sha256')
    .update(JSON.stringify([offer.contactId, offer.application, name, date, time]))
    .digest('hex')
}

export class HostDouble implements SessionHost {
  readonly folder: string
  #made: Promise<unknown> | undefined
  readonly received: Received[] = []
  readonly offers: Offer[] = []
  readonly abandoned: { offer: Offer; reason: unknown; keep: boolean }[] = []
  readonly refusals: { caller: Caller; reason: string }[] = []
  readonly sessions: Session[] = []
  readonly open = new Set<FileHandle>()
  readonly partials = new Map<string, { offer: Offer; size: number }>()
  admissions: (caller: Caller) => Admission<unknown> = () => {
    throw new NodeError('login_refused', 'nobody is expected')
  }
  tree = (_contactId: string): Reached => ({ applications: ['NOMINA', 'RECIBOS'], ways: 'B' })
  onOffer: (offer: Offer) => void = () => {}
  onComplete: (offer: Offer) => Promise<void> | void = () => {}
  onWrite: (offer: Offer) => Promise<void> | void = () => {}

  /** The hashes of what was received, by key, as the engine has them; told where this is set. */
  readonly hashes = new Map<string, string>()
  remembers = false

  /** Whether a client may read back what it has sent. */
  readable = true

  constructor(folder: string) {
    this.folder = folder
  }

  async offer(offer: Offer): Promise<Incoming> {
    this.offers.push(offer)
    this.onOffer(offer)
    await (this.#made ??= mkdir(this.folder, { recursive: true }))
    const key = keyText(offer)
    const part = join(this.folder, `${key}.part`)
    const sha256 = this.remembers ? this.hashes.get(key) : undefined
    if (sha256 !== undefined) return knownBefore(offer.size ?? 0, sha256)
    const kept = this.partials.get(key)
    const position = kept === undefined ? 0 : Math.min(kept.size, offer.restartFrom)
    const file = await open(part, position > 0 ? 'r+' : 'w+')
    this.open.add(file)
    if (position > 0) await file.truncate(position)
    return this.#incoming({ offer, key, part, file, position })
  }

  #incoming(at: { offer: Offer; key: string; part: string; file: FileHandle; position: number }): Incoming {
    const { key, part, file, position } = at
    let { offer } = at
    const close = async () => {
      this.open.delete(file)
      await file.close()
    }
    let end = position
    return {
      position,
      read: async (into, from) => {
        if (!this.readable) throw new NodeError('forbidden', 'nobody may read here')
        return (await file.read(into, 0, into.length, from)).bytesRead
      },
      truncate: async (length) => {
        end = length
        await file.truncate(length)
      },
      write: async (chunk, from) => {
        await this.onWrite(offer)
        await file.write(chunk, 0, chunk.length, from)
        end = Math.max(end, from + chunk.length)
      },
      rename: async (name) => {
        this.onOffer({ ...offer, name })
        offer = { ...offer, name }
      },
      complete: async ({ size }) => {
        const { size: there } = await file.stat()
        await close()
        if (there !== size)
          throw new NodeError('hash_mismatch', `${there} octets are here, ${size} were announced`)
        await this.onComplete(offer)
        const path = join(this.folder, `${this.received.length}-${offer.name}`)
        await rename(part, path)
        this.partials.delete(key)
        this.hashes.set(
          key,
          createHash('sha256')
            .update(await readFile(path))
            .digest('hex'),
        )
        this.received.push({ offer, path, size })
      },
      abandon: async (reason, keep) => {
        this.abandoned.push({ offer, reason, keep })
        await close()
        if (keep && end > 0) this.partials.set(key, { offer, size: end })
        else {
          this.partials.delete(key)
          await rm(part, { force: true })
        }
      },
    }
  }

  async admit<Settings>(caller: Caller): Promise<Admission<Settings>> {
    return this.admissions(caller) as Admission<Settings>
  }

  isKnown(): boolean {
    return true
  }

  async proven(): Promise<void> {}

  async attempt<T>(_caller: Caller, check: () => Promise<T | undefined>): Promise<T | undefined> {
    return check()
  }

  /** What `admissions` let in, once it has proven itself. */
  async reached(reach: Reach): Promise<Reached> {
    const tree = this.tree(reach.contactId)
    return reach.refusal({ code: '' }) ? { ...tree, applications: [] } : tree
  }

  opened(session: Session): void {
    this.sessions.push(session)
  }

  turn(): Promise<void> {
    return Promise.resolve()
  }

  receipt(): Promise<void> {
    return Promise.resolve()
  }

  receiptsOwed(): Promise<never[]> {
    return Promise.resolve([])
  }

  receiptDelivered(): Promise<void> {
    return Promise.resolve()
  }

  async refused(caller: Caller, reason: string): Promise<void> {
    this.refusals.push({ caller, reason })
  }

  async bytesOf(name: string): Promise<Buffer[]> {
    const found = this.received.filter((one) => one.offer.name === name)
    return Promise.all(found.map((one) => readFile(one.path)))
  }
}

function knownBefore(position: number, sha256: string): Incoming {
  const nothing = () => Promise.resolve()
  return {
    position,
    known: { sha256 },
    read: () => Promise.resolve(0),
    truncate: nothing,
    write: nothing,
    rename: nothing,
    complete: nothing,
    abandon: nothing,
  }
}

export function sourceOf(bytes: Buffer): Source & { reads: number[] } {
  const reads: number[] = []
  return {
    size: bytes.length,
    reads,
    read: async (into, position) => {
      reads.push(position)
      return bytes.copy(into, 0, position, Math.min(bytes.length, position + into.length))
    },
  }
}

/** Bytes that differ everywhere and are the same every time. */
export function patternBytes(length: number, seed: number): Buffer {
  const out = Buffer.allocUnsafe(length)
  let state = (seed * 2654435761) >>> 0 || 1
  for (let at = 0; at < length; at++) {
    state ^= state << 13
    state >>>= 0
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    out[at] = state & 255
  }
  return out
}

export function keyFor(name: string, time = '1200000001'): FileKey {
  return { name, date: '20260102', time }
}
