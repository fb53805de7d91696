// The OFTP2 transport through the suite that every transport passes: a real session on loopback, with the partner's
// engine played by the suite's own host. What the partner has for us is pushed when it has the turn.

import { closeAfter } from '../support/harness.ts'
import { makeSessionCrypto } from '../../src/engine/sessions/session-crypto.ts'
import { MemoryHost, MemorySource, Told, fileOf } from '../support/transport-ends.ts'
import { transportConformance } from '../support/transport-conformance.ts'
import type { ConformancePartner } from '../support/transport-conformance.ts'
import { createOftp2, listenOftp2 } from '../../src/engine/transports/oftp2/oftp2.ts'
import type { Oftp2Settings } from '../../src/contract/contact-settings.ts'
import type {
  Admission,
  Caller,
  Incoming,
  Offer,
  Session,
  SessionHost,
} from '../../src/engine/transports/transport.ts'
import type { Reached } from '../../src/engine/transports/transport.ts'
import { reachAll } from '../support/reach.ts'

const [OWN, THEIRS] = ['O0013BANCO', 'O0013ACME']
const never = new AbortController().signal

const party = {
  settings: {},
  applications: async () => ['NOMINA'],
  ways: 'B' as const,
  timeouts: { connectMs: 60_000, syncMs: 60_000, ackMs: 60_000, idleMs: 120_000 },
  security: {
    encrypted: false,
    authentication: 'NONE' as const,
    localKey: undefined,
    remoteKey: undefined,
    rsaLocalKey: undefined,
    rsaRemoteKey: undefined,
  },
  compression: false,
}

/** The partner's engine: admits us, keeps halves by key, and speaks when it has the turn. */
class Partner implements SessionHost {
  readonly files = new MemoryHost()
  readonly halves = new Set<string>()
  readonly waiting = new Map<string, Buffer>()

  admit<Settings>(_caller: Caller): Promise<Admission<Settings>> {
    const admission: Admission<Oftp2Settings> = {
      ...party,
      reach: reachAll('banco', 'partner'),
      contactId: 'banco',
      localId: THEIRS,
      remoteId: OWN,
    }
    return Promise.resolve(admission as Admission<Settings>) // the only settings there are here
  }

  isKnown(): boolean {
    return true
  }

  async proven(): Promise<void> {}

  attempt<T>(_caller: Caller, check: () => Promise<T | undefined>): Promise<T | undefined> {
    return check()
  }

  reached(): Promise<Reached> {
    return Promise.resolve({ applications: [], ways: 'B' })
  }

  opened(): void {}

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

  async offer(offer: Offer): Promise<Incoming> {
    const incoming = await this.files.offer(offer)
    const key = JSON.stringify(offer.key)
    this.halves.add(key)
    const complete = incoming.complete.bind(incoming)
    return Object.assign(incoming, {
      complete: async (end: { size: number; sha256?: string }) => {
        await complete(end)
        this.halves.delete(key)
      },
    })
  }

  async turn(session: Session): Promise<void> {
    for (const [name, bytes] of this.waiting) {
      if (session.ended.aborted) return
      const key = this.#keys.get(name) ?? fileOf(name, new MemorySource(bytes)).key
      this.#keys.set(name, key)
      const restartFrom = this.#safe.get(name) ?? 0
      const told = new Told()
      await session
        .push(fileOf(name, new MemorySource(bytes), { key, restartFrom }), told, never)
        .then(() => this.waiting.delete(name))
        .catch(() => this.#safe.set(name, bytes.length))
    }
  }

  readonly #keys = new Map<string, Offer['key']>()
  readonly #safe = new Map<string, number>()
}

async function setUp(t: Parameters<typeof closeAfter>[0]): Promise<ConformancePartner> {
  const partner = new Partner()
  const listener = await listenOftp2({
    host: '127.0.0.1',
    port: 0,
    sessionHost: partner,
    crypto: makeSessionCrypto(),
  })
  closeAfter(t, () => listener.close())
  const oftp2 = createOftp2({ crypto: makeSessionCrypto() })
  const call = {
    ...party,
    reach: reachAll('acme'),
    contactId: 'acme',
    localId: OWN,
    remoteId: THEIRS,
    signal: never,
  }
  return {
    lacks: ['taken names', 'remote hash', 'removing partials'],
    connect: (host) => oftp2.connect({ ...call, ...listener.address }, host),
    received: () => Promise.resolve(partner.files.received),
    partials: () => Promise.resolve(partner.halves.size),
    occupy: () => Promise.resolve(),
    offer: (name, bytes) => Promise.resolve(void partner.waiting.set(name, bytes)),
    offered: () => Promise.resolve([...partner.waiting.keys()]),
    // oxlint-disable-next-line no-control-regex
    carries: (name) => !/[\u0000-\u001f]/.test(name),
  }
}

transportConformance('oftp2', setUp)
