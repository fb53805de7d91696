// The end of a reception: COMPLETED, or FAILED by the reason of the file that was refused first. Every file that came is
// dealt with by then (finish-file.ts). Written once, under the claim; when that is not ours any more, nothing is written.
// One whose file waits for a disk does not end yet: it rests, and any node goes on with it.

import { nextAttemptAt } from '../../domain/retry-schedule.ts'
import { NodeError, toNodeError } from '../../errors.ts'
import { addHistory } from '../../store/channels.ts'
import { parkClaim, requireHeld } from '../../store/transfers/leases.ts'
import { moveTransfer } from '../../store/transfers/transfers.ts'
import { runStep } from '../actions/script-steps.ts'
import { announce } from '../events.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { owe } from './owe-receipt.ts'

/** Its channel takes no other files meanwhile. */
const MOST_REST_MS = 60_000

export async function endReception(
  running: RunningTransfer,
  refused: { reason: unknown } | undefined,
): Promise<void> {
  if (refused) return failReception(running, refused.reason)
  const { context, transfer, held } = running
  const now = context.now()
  await context.store.write(async (tx) => {
    await requireHeld(tx, context.store.dialect, held)
    // What it waited for on the way is over.
    const move = { from: 'IN_PROGRESS', to: 'COMPLETED', now, fence: held.fence, error: null } as const
    await moveTransfer(tx, transfer.id, move)
    await addHistory(tx, transfer.channelCode, [
      { at: now, event: 'TRANSFER_COMPLETED', detail: transfer.id },
    ])
  })
  announce(context, transfer, 'COMPLETED')
}

/**
 * It stays IN_PROGRESS: neither the partner's call nor the channel's hours matter for what is here. `error` says what it
 * waits for.
 */
export async function restReception(
  { context, transfer, held }: Pick<RunningTransfer, 'context' | 'transfer' | 'held'>,
  error: string,
): Promise<void> {
  const now = context.now()
  const attempts = transfer.attempts + 1
  const dueAt = Math.min(nextAttemptAt(now, attempts, Math.random), now + MOST_REST_MS)
  // A reset, or whoever has taken it over, has told what became of it.
  if (!(await context.store.write((tx) => parkClaim(tx, held, dueAt, { attempts, error })))) return
  const about = { transfer: transfer.id, channel: transfer.channelCode, attempts, error, inMs: dueAt - now }
  context.log.warn(about, 'a received file waits for its disk')
  announce(context, transfer, 'IN_PROGRESS', error)
}

export async function failReception(running: RunningTransfer, reason: unknown): Promise<void> {
  const { context, transfer, held, plan, unsaid } = running
  if (reason instanceof NodeError && (reason.code === 'cancelled' || reason.code === 'lease_lost')) return
  // The database did not answer. Whoever claims the transfer next will see how far it got.
  if (reason instanceof NodeError && reason.code === 'unavailable' && !context.stopping.aborted) return
  const now = context.now()
  const { message, code } = toNodeError(reason)
  const error = { message, code }
  const moved = await context.store.write(async (tx) => {
    const move = { from: 'IN_PROGRESS', to: 'FAILED', now, fence: held.fence, error } as const
    if (!(await moveTransfer(tx, transfer.id, move))) return false
    for (const { file, failure } of unsaid) await owe(running, file, tx, failure)
    await addHistory(tx, transfer.channelCode, [
      { at: now, event: 'TRANSFER_FAILED', detail: `${transfer.id}: ${error.message}` },
    ])
    return true
  })
  if (!moved) return
  context.log.warn(
    { transfer: transfer.id, channel: transfer.channelCode, code: error.code, err: reason },
    'a reception failed',
  )
  announce(context, transfer, 'FAILED', error.message)
  const script = plan.channel.integrations?.exceptionFile
  if (script)
    await runStep(
      { ...running, signal: AbortSignal.timeout(context.scriptMs) },
      'exception',
      script,
      undefined,
      error.message,
    ).catch(() => {})
}
