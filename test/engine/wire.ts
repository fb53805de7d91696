// What partners say at the door, as short as a test needs it.

import type { Call, Caller, Offer, Proof } from '../../src/engine/transports/transport.ts'
import { reachAll, shows } from '../support/reach.ts'
import { OPEN_SESSION } from '../support/open-session.ts'

let offers = 0

export function offerOf(name: string, change: Partial<Offer> = {}): Offer {
  offers += 1
  return {
    contactId: 'acme',
    application: 'NOMINA',
    reach: reachAll('acme'),
    name,
    key: { name, date: '20261115', time: `12${String(offers).padStart(8, '0')}` },
    format: { kind: 'U', recordLength: 0 },
    envelope: undefined,
    size: undefined,
    restartFrom: 0,
    encryptedSession: false,
    ...change,
  }
}

export function callerOf(proof: Partial<Proof> = {}): Caller {
  return { protocol: 'oftp2', id: 'ACME', proof: shows({ address: '192.0.2.1', encrypted: false, ...proof }) }
}

/** A call as the engine would make it, for a session that the partner opens. */
export function callOf(change: Partial<Call<unknown>> = {}): Call<unknown> {
  return {
    contactId: 'acme',
    host: '127.0.0.1',
    port: 1,
    localId: 'BANCO',
    remoteId: 'ACME',
    settings: {},
    applications: async () => ['NOMINA'],
    reach: reachAll('acme'),
    ways: 'B',
    timeouts: { connectMs: 1000, syncMs: 1000, ackMs: 1000, idleMs: 1000 },
    security: OPEN_SESSION,
    compression: false,
    signal: new AbortController().signal,
    ...change,
  }
}
