// How a run ends that did not complete: it is given back, tried again later, or failed. Everything is written under the
// claim. When the claim is not ours any more, nothing is written.

import { rm } from 'node:fs/promises'
import { nextAttemptAt } from '../../domain/retry-schedule.ts'
import type { TransferRecord } from '../../domain/transfer.ts'
import { toNodeError } from '../../errors.ts'
import type { NodeError } from '../../errors.ts'
import { addHistory } from '../../store/channels.ts'
import { lengthenPause } from '../../store/automation-runs.ts'
import { parkClaim } from '../../store/transfers/leases.ts'
import type { Held } from '../../store/transfers/leases.ts'
import { moveTransfer, wasCancelled } from '../../store/transfers/transfers.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { failReception, restReception } from '../receiving/end-reception.ts'
import { waitsForDisk } from '../receiving/refusal.ts'
import { clearWithdrawn } from '../sending/outbox-spool.ts'
import { announce } from '../events.ts'
import { runStep } from '../actions/script-steps.ts'
import type { EngineContext } from '../engine-context.ts'

/** What becomes of a transfer whose run ended with an error; the table at the top of run-transfer.ts. */
export async function ended(
  context: EngineContext,
  transfer: TransferRecord,
  held: Held,
  running: RunningTransfer | undefined,
  thrown: unknown,
): Promise<void> {
  const error = toNodeError(thrown)
  if (error.code === 'lease_lost') return
  if (error.code === 'cancelled' && (await wasReset(context, held))) return context.staging.clear(transfer.id)
  const waits = waitsForDisk(error)
  if (waits !== undefined && transfer.direction === 'RECEPCION')
    return restReception({ context, transfer, held }, waits)
  if (error.code === 'cancelled' || error.code === 'unavailable') return putBack(context, transfer, held)
  if (running && transfer.direction === 'RECEPCION') return failReception(running, error)
  const retries = running?.plan.channel.connection?.advancedConfigurationConnection?.retries ?? 0
  if (error.retry && transfer.attempts < retries) return tryLater(context, transfer, held, error)
  await fail(context, transfer, held, running, error)
}

/** A transport that is being stopped says `cancelled` too. Only the row tells whether somebody reset the transfer. */
function wasReset({ store }: EngineContext, { id }: Held): Promise<boolean> {
  return wasCancelled(store.db, id)
}

/** The node is draining. Another one goes on from the last restart point. This does not count as an attempt. */
async function putBack(context: EngineContext, transfer: TransferRecord, held: Held): Promise<void> {
  const now = context.now()
  // If the node is not stopping, the database did not answer: wait a moment before the next try.
  const dueAt = context.stopping.aborted ? now : now + BREATHER_MS
  await context.store.write(async (tx) => {
    const move = { from: 'IN_PROGRESS', to: 'PENDING', now, fence: held.fence, dueAt } as const
    const moved =
      !isHere(transfer) && (await moveTransfer(tx, transfer.id, { ...move, ...noError(transfer) }))
    if (!moved) await parkClaim(tx, held, dueAt)
  })
}

/** Its files are here, and neither the partner's call nor the channel's hours matter for them. A fetch may need both. */
function isHere({ direction, type, attempts, files }: TransferRecord): boolean {
  if (direction !== 'RECEPCION') return false
  const fetches = type === 'MANUAL' || type === 'RETRY'
  return !fetches || (attempts > 0 && files.some(({ phase }) => phase === 'WHOLE' || phase === 'PLACED'))
}

/** What a reception has waited for is over when nothing of it is left here. */
function noError({ direction }: TransferRecord): { error?: null } {
  return direction === 'RECEPCION' ? { error: null } : {}
}

const BREATHER_MS = 1000

async function tryLater(
  context: EngineContext,
  transfer: TransferRecord,
  held: Held,
  error: NodeError,
): Promise<void> {
  const now = context.now()
  const attempts = transfer.attempts + 1
  const dueAt = nextAttemptAt(now, attempts, Math.random)
  const moved = await context.store.write((tx) =>
    moveTransfer(tx, transfer.id, {
      from: 'IN_PROGRESS',
      to: 'PENDING',
      now,
      fence: held.fence,
      attempts,
      dueAt,
    }),
  )
  if (!moved) return
  context.log.info(
    {
      transfer: transfer.id,
      channel: transfer.channelCode,
      attempts,
      code: error.code,
      err: error,
      inMs: dueAt - now,
    },
    'an attempt failed; another follows',
  )
  announce(context, transfer, 'PENDING', error.message)
}

async function fail(
  context: EngineContext,
  transfer: TransferRecord,
  held: Held,
  running: RunningTransfer | undefined,
  error: NodeError,
): Promise<void> {
  const now = context.now()
  const failed = await context.store.write(async (tx) => {
    const move = {
      to: 'FAILED',
      now,
      fence: held.fence,
      error: { message: error.message, code: error.code },
    } as const
    if (!(await moveTransfer(tx, transfer.id, { from: transfer.state, ...move }))) return false
    if (isAutomatic(transfer)) await lengthenPause(tx, transfer.channelCode, now)
    await addHistory(tx, transfer.channelCode, [
      { at: now, event: 'TRANSFER_FAILED', detail: `${transfer.id}: ${error.message}` },
    ])
    return true
  })
  if (!failed) return
  context.log.warn(
    { transfer: transfer.id, channel: transfer.channelCode, code: error.code, err: error },
    'a transfer failed',
  )
  if (transfer.direction === 'EMISION') await clearWithdrawn(context, transfer.id).catch(() => {}) // swept later
  // The line broke: a person may retry it, and it goes on from there. Automation makes the wire form anew.
  if (!error.retry || isAutomatic(transfer)) await dropStaged(context, transfer)
  announce(context, transfer, 'FAILED', error.message)
  const script = running?.plan.channel.integrations?.exceptionFile
  if (!script) return
  const about = { context, transfer, signal: AbortSignal.timeout(context.scriptMs) }
  await runStep(about, 'exception', script, undefined, error.message).catch((thrown: unknown) =>
    context.log.warn({ transfer: transfer.id, err: thrown }, 'the exception script failed'),
  )
}

function isAutomatic({ type, direction }: TransferRecord): boolean {
  return type === 'AUTOMATIC' && direction === 'EMISION'
}

/** Its own wire forms, and those that it took over from the one it retried. */
async function dropStaged(context: EngineContext, transfer: TransferRecord): Promise<void> {
  const { staging, log } = context
  try {
    for (const { stagedPath } of transfer.files) if (stagedPath) await rm(stagedPath, { force: true })
    await staging.clear(transfer.id)
  } catch (thrown) {
    log.warn({ err: thrown, transfer: transfer.id }, 'what a failed transfer left could not be removed')
  }
}
