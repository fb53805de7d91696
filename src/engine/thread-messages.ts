// What the node and the engine's thread say to each other.

import type { Config } from '../config.ts'
import type { TransferEvent } from '../contract/event.ts'
import type { Counters } from './engine.ts'

/** What the thread is started with. */
export type ThreadData = { config: Config; owner: string }

export type ToEngine = { kind: 'wake' } | { kind: 'cancelled'; transferId: string } | { kind: 'stop' }

export type FromEngine =
  | { kind: 'ready' }
  | { kind: 'stopped' }
  | { kind: 'event'; event: TransferEvent }
  | { kind: 'counters'; counters: Counters }
