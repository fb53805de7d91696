// What a reception needs of the engine around it; one for each protocol, made by engine.ts.

import type { EngineContext } from '../engine-context.ts'
import type { Quotas } from '../staging/quotas.ts'
import type { Capabilities } from '../transports/transport.ts'
import type { OfferMemory } from './offer-memory.ts'
import type { Receptions } from './receptions.ts'
import type { WriteTogether } from './small/write-together.ts'

export type ReceivingContext = {
  context: EngineContext
  capabilities: Capabilities
  memory: OfferMemory
  quotas: Quotas
  receptions: Receptions
  /** Small files are written by the dozen. */
  together: WriteTogether
  /** Work that goes on after the partner was answered; the engine waits for it when it stops. */
  background: (contactId: string, running: Promise<void>) => void
}
