// What every part of the engine works with; built once by engine.ts.

import type { KnownAddresses } from '../accounts/known-addresses.ts'
import type { Limiter } from '../accounts/limiter.ts'
import type { Zone } from '../domain/time.ts'
import type { Roots } from '../domain/channel-rules.ts'
import type { Log } from '../log.ts'
import type { Store } from '../store/database/store.ts'
import type { Seal } from '../store/seal.ts'
import type { CodePage, Config } from '../config.ts'
import type { Publish } from './events.ts'
import type { Heartbeat } from './scheduling/heartbeat.ts'
import type { Slots } from './scheduling/slots.ts'
import type { Staging } from './staging/staging.ts'

export type EngineContext = {
  /** Names this engine in leases. */
  owner: string
  store: Store
  seal: Seal
  log: Log
  zone: Zone
  roots: Roots
  codePage: CodePage
  /** What is taken at the least of signed and encrypted files. */
  policy: Pick<Config, 'leastDigest' | 'leastCipher' | 'leastRsaBits'>
  staging: Staging
  slots: Slots
  leaseMs: number
  heartbeat: Heartbeat
  scriptMs: number
  /** How long a partner may bring nothing until it has brought what it had; another time, for tests. */
  receptionIdleMs?: number
  /** What partners' files may take of this node. */
  limits: {
    maxOpenedOctets: number
    diskReserveOctets: number
    contactOctets: number
    contactFiles: number
  }
  now: () => number
  /** Counts failed sign-ins, together with all other doors. */
  limiter: Limiter
  knownAddresses: KnownAddresses
  /** Aborted when the engine stops: nothing new is begun. */
  stopping: AbortSignal
  publish: Publish
  /** Octets moved, for the metrics. */
  quotaMet: () => void
  counted: (direction: 'EMISION' | 'RECEPCION', octets: number) => void
}
