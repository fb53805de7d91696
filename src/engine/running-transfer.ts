// A claimed transfer in hand: what sending and receiving both work on. Whoever holds one may write under `held` until
// `signal` is aborted (reset, lost, or the node stops).

import type { TransferRecord } from '../domain/transfer.ts'
import type { Held } from '../store/transfers/leases.ts'
import type { EngineContext } from './engine-context.ts'
import type { TransferPlan } from './transfer-plan.ts'

export type RunningTransfer = {
  context: EngineContext
  transfer: TransferRecord
  held: Held
  plan: TransferPlan
  signal: AbortSignal
}
