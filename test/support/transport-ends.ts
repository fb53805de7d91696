// For tests alone: the two ends that the conformance suite puts a transport between. The engine's end keeps everything
// in memory; sources can be cut at any octet, which is how a line breaks without any switch in the product.

import { createHash } from 'node:crypto'
import { NodeError } from '../../src/errors.ts'
import type { FileKey } from '../../src/engine/transports/file-key.ts'
import type {
  Caller,
  Incoming,
  Offer,
  PushProgress,
  SessionHost,
  Source,
  WireFile,
} from '../../src/engine/transports/transport.ts'
import type { Reached } from '../../src/engine/transports/transport.ts'

/** Octets that repeat nowhere near each other, the same for the same seed. */
export function sampleBytes(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length)
  let state = seed * 2_654_435_761
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[at] = state >>> 24
  }
  return bytes
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export class MemorySource implements Source {
  readonly size: number
  readonly reads: { position: number; length: number }[] = []
  readonly #bytes: Buffer
  readonly #cutAt: number

  /** Reads at or past `cutAt` fail as a broken line does. */
  constructor(bytes: Buffer, cutAt = Number.POSITIVE_INFINITY) {
    this.#bytes = bytes
    this.size = bytes.length
    this.#cutAt = cutAt
  }

  read(into: Uint8Array, position: number): Promise<number> {
    if (position >= this.#cutAt) return Promise.reject(new NodeError('connection_lost', `cut at ${position}`))
    const end = Math.min(this.size, position + into.length, this.#cutAt)
    const length = this.#bytes.copy(into, 0, position, end)
    this.reads.push({ position, length })
    return Promise.resolve(length)
  }
}

let made = 0

export function fileOf(name: string, source: Source, change: Partial<WireFile> = {}): WireFile {
  made += 1
  return {
    transferId: `t${made}`,
    key: { name, date: '20261115', time: `1030${String(made).padStart(6, '0')}` },
    application: 'NOMINA',
    name,
    source,
    format: { kind: 'U', recordLength: 0 },
    envelope: undefined,
    originalSize: source.size,
    restartFrom: 0,
    signedReceipt: false,
    verify: false,
    mayBeThere: false,
    ...change,
  }
}

/** What a push told on its way. */
export class Told implements PushProgress {
  moves: number[] = []
  safest = 0
  placings = 0
  onPlacing: (sha256?: string) => Promise<void> = () => Promise.resolve()

  moved(position: number): void {
    this.moves.push(position)
  }

  safe(position: number): void {
    this.safest = Math.max(this.safest, position)
  }

  async placing(sha256?: string): Promise<void> {
    this.placings++
    await this.onPlacing(sha256)
  }
}

function textOf(key: FileKey): string {
  return JSON.stringify([key.name, key.date, key.time])
}

/** The engine's end of a fetch: whole files by name, half files by key. */
export class MemoryHost implements SessionHost {
  readonly received = new Map<string, Buffer>()
  readonly offers: Offer[] = []
  readonly abandoned: { name: string; reason: unknown; keep: boolean }[] = []
  readonly #halves = new Map<string, Buffer>()
  open = 0
  onOffer: (offer: Offer) => Promise<void> | void = () => {}
  onWrite: (offer: Offer, position: number) => Promise<void> | void = () => {}
  onComplete: (offer: Offer) => Promise<void> | void = () => {}

  async offer(offer: Offer): Promise<Incoming> {
    this.offers.push(offer)
    await this.onOffer(offer)
    const half = this.#halves.get(textOf(offer.key)) ?? Buffer.alloc(0)
    let bytes = half.subarray(0, offer.restartFrom)
    this.open++
    return {
      position: bytes.length,
      read: (into, position) => Promise.resolve(bytes.copy(into, 0, position)),
      truncate: (length) => {
        bytes = bytes.subarray(0, length)
        return Promise.resolve()
      },
      write: async (chunk, position) => {
        await this.onWrite(offer, position)
        const end = Math.max(bytes.length, position + chunk.length)
        const grown = Buffer.alloc(end)
        bytes.copy(grown)
        grown.set(chunk, position)
        bytes = grown
      },
      rename: () => Promise.reject(new Error('a file that is fetched has its name')),
      complete: async ({ size }) => {
        await this.onComplete(offer)
        if (size !== bytes.length) throw new NodeError('connection_lost', `${bytes.length} of ${size}`)
        this.open--
        this.received.set(offer.name, bytes)
        this.#halves.delete(textOf(offer.key))
      },
      abandon: (reason, keep) => {
        this.open--
        this.abandoned.push({ name: offer.name, reason, keep })
        if (keep) this.#halves.set(textOf(offer.key), bytes)
        return Promise.resolve()
      },
    }
  }

  admit(): Promise<never> {
    return Promise.reject(new NodeError('login_refused', 'nobody is expected'))
  }

  isKnown(): boolean {
    return true
  }

  async proven(): Promise<void> {}

  async attempt<T>(_caller: Caller, check: () => Promise<T | undefined>): Promise<T | undefined> {
    return check()
  }

  reached(): Promise<Reached> {
    return Promise.resolve({ applications: [], ways: 'B' })
  }

  opened(): void {}

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

  refused(): Promise<void> {
    return Promise.resolve()
  }
}
