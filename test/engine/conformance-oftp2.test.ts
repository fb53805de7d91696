// OFTP2 in the conformance suite: a real listener on loopback, with an engine in memory behind it, is the partner.

import type { TestContext } from 'node:test'
import { transportConformance } from '../support/transport-conformance.ts'
import type { ConformancePartner } from '../support/transport-conformance.ts'
import { MemorySource, Told, fileOf } from '../support/transport-ends.ts'
import { createOftp2, listenOftp2 } from '../../src/engine/transports/oftp2/oftp2.ts'
import { realName } from '../../src/engine/transports/oftp2/protocol/dataset-name.ts'
import { CALLED, CALLER, TIMEOUTS, trialCrypto } from '../support/oftp2/ends.ts'
import { OPEN_SESSION } from '../support/open-session.ts'
import { TrialHost, contentOf } from '../support/oftp2/host.ts'
import { closeAfter } from '../support/harness.ts'
import { callOf } from './wire.ts'
import { reachAll } from '../support/reach.ts'

async function oftp2Partner(t: TestContext): Promise<ConformancePartner> {
  const called = new TrialHost()
  const terms = { settings: {}, reach: reachAll('caller', 'partner'), ways: 'B', compression: false } as const
  const party = { ...terms, timeouts: TIMEOUTS, security: OPEN_SESSION }
  called.partners.set(CALLER, { ...party, contactId: 'caller', localId: CALLED, remoteId: CALLER })
  const waiting = new Map<string, Buffer>()
  // The partner's engine: one file after the other, and what is refused stays for the next turn.
  called.onTurn = async (session) => {
    for (const [name, bytes] of waiting) {
      const before = told.get(name) ?? new Told()
      const now = new Told()
      told.set(name, now)
      const file = fileOf(name, new MemorySource(bytes), {
        key: keys.get(name) ?? noKey,
        restartFrom: before.safest,
        mayBeThere: before.placings > 0,
      })
      const sent = await session.push(file, now, new AbortController().signal).then(
        () => true,
        () => false,
      )
      if (sent) waiting.delete(name)
      if (session.ended.aborted) return
    }
  }
  const keys = new Map<string, typeof noKey>()
  const told = new Map<string, Told>()
  const listener = await listenOftp2({
    host: '127.0.0.1',
    port: 0,
    sessionHost: called,
    crypto: trialCrypto,
  })
  closeAfter(t, () => listener.close())
  const transport = createOftp2({ crypto: trialCrypto })
  return {
    lacks: ['concurrency', 'taken names', 'remote hash', 'removing partials'],
    connect: (host) =>
      transport.connect(
        {
          ...callOf({ contactId: 'called', port: listener.address.port, timeouts: TIMEOUTS }),
          localId: CALLER,
          remoteId: CALLED,
          settings: {},
        },
        host,
      ),
    received: () =>
      Promise.resolve(new Map(called.complete.map((file) => [file.offer.name, contentOf(file)]))),
    partials: () => Promise.resolve([...called.files.values()].filter((file) => !file.complete).length),
    occupy: () => Promise.resolve(),
    offer: (name, bytes) => {
      waiting.set(name, bytes)
      keys.set(name, { name, date: '20261115', time: String(1_000_000_000 + keys.size) })
      return Promise.resolve()
    },
    offered: () => Promise.resolve([...waiting.keys()]),
    carries: (name) => realName(name, '') === name,
  }
}

const noKey = { name: '', date: '', time: '' }

transportConformance('oftp2', oftp2Partner)
