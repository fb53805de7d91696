// A claimed transfer that is being worked on, in either direction. Its holder may write under `held` until `signal` is
// aborted: by a reset, by the loss of the lease, or because the node stops.

import type { TransferFileRecord, TransferRecord } from '../domain/transfer.ts'
import type { Held } from '../store/transfers/leases.ts'
import type { EngineContext } from './engine-context.ts'
import type { TransferPlan } from './transfer-plan.ts'

export type RunningTransfer = {
  context: EngineContext
  transfer: TransferRecord
  held: Held
  plan: TransferPlan
  signal: AbortSignal
  /** Of a reception: files in their place whose action failed, and whose receipt says so when the reception ends FAILED. */
  unsaid: { file: TransferFileRecord; failure: unknown }[]
}
