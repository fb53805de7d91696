// What a reception needs of the engine around it; one for each protocol, made by engine.ts.

import type { Held } from '../../store/transfers/leases.ts'
import type { EngineContext } from '../engine-context.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import type { Capabilities } from '../transports/transport.ts'
import type { OfferMemory } from './offer-memory.ts'

export type ReceivingContext = {
  context: EngineContext
  capabilities: Capabilities
  memory: OfferMemory
  /** A fetch under way for that channel, whose transfer the file joins instead of making its own. */
  joins: (channelCode: string) => RunningTransfer | undefined
  /** The engine keeps the lease of a transfer from now on, and stops it by this signal. */
  hold: (held: Held) => AbortSignal
  release: (held: Held) => void
  /** Work that goes on after the partner was answered; the engine waits for it when it stops. */
  background: (contactId: string, running: Promise<void>) => void
}
