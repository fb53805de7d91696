// What holds a transfer that waits, and until when. The same order in which the engine looks before it starts one
// (engine/scheduling/run-transfer.ts): the first that holds is the reason.

import type { Channel } from '../contract/channel.ts'
import type { ProtocolName } from '../contract/contact-settings.ts'
import type { TransferDirection, TransferStatus } from '../contract/transfer.ts'
import type { WaitingReason } from '../contract/transfer-search.ts'
import { closedBecause, goes, partnerMustCall } from './channel.ts'
import { nextOpening } from './time.ts'
import type { Hours, Zone } from './time.ts'

export type Held = { reason: WaitingReason; until?: number }

export type Waits = {
  state: TransferStatus
  direction: TransferDirection
  dueAt: number
  attempts: number
  /** Until when receipts are awaited; null: none is. */
  receiptsUntil: number | null
}

/** Its channel as it is now; `downUntil` is 0 unless the partner counts as down. */
export type Surroundings = { config: Channel; hours: Hours; protocol: ProtocolName; downUntil: number }

/** Undefined: it moves, or is over. */
export function waitingFor(transfer: Waits, around: Surroundings, now: number, zone: Zone): Held | undefined {
  const { state, direction, dueAt, attempts, receiptsUntil } = transfer
  if (state === 'IN_PROGRESS' && receiptsUntil !== null) return { reason: 'RECEIPT', until: receiptsUntil }
  // A received file waits for its disk.
  if (state === 'IN_PROGRESS' && attempts > 0 && dueAt > now) return { reason: 'RETRY', until: dueAt }
  if (state !== 'PENDING') return undefined
  const { config, hours, protocol, downUntil } = around
  if (!goes(config, direction) || closedBecause(config, direction)) return { reason: 'CLOSED' }
  const opening = nextOpening(hours, now, zone)
  if (opening > now) return { reason: 'HOURS', until: opening }
  if (partnerMustCall(config, protocol)) return { reason: 'PARTNER_CALL' }
  if (direction === 'EMISION' && downUntil > now)
    return { reason: 'PARTNER_DOWN', until: Math.max(downUntil, attempts > 0 ? dueAt : 0) }
  return attempts > 0 && dueAt > now ? { reason: 'RETRY', until: dueAt } : { reason: 'TURN' }
}
