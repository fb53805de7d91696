// What the node and the engine's thread say to each other.

import type { Config } from '../config.ts'
import type { TransferEvent } from '../contract/event.ts'
import type { Lag } from '../event-loop-lag.ts'
import type { Counters } from './counters.ts'

/** What the thread is started with. */
export type ThreadData = { config: Config; owner: string }

export type ToEngine =
  | { kind: 'wake' }
  | { kind: 'cancelled'; transferId: string }
  /** Another node has a file for the channel and waits for the reception under way here; or has ended its own. */
  | { kind: 'channel wanted' | 'channel free'; channelCode: string }
  | { kind: 'stop' }

export type FromEngine =
  | { kind: 'ready' }
  | { kind: 'stopped' }
  | { kind: 'event'; event: TransferEvent }
  | { kind: 'channel wanted'; channelCode: string }
  | { kind: 'counters'; counters: Counters; lag: Lag }
