// What is done with a file that is in its place: its post-action, then DONE, together with the receipt that is owed for it.
// Where the channel has no action, place-file.ts writes the same with PLACED, and there is nothing left to do here.

import { stat } from 'node:fs/promises'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { ifThere } from '../../files/place.ts'
import type { Tx } from '../../store/database/store.ts'
import { updateFile } from '../../store/transfers/leases.ts'
import { moveOriginal, placesOf } from '../actions/post-action.ts'
import type { MoveTo } from '../actions/post-action.ts'
import { runStep } from '../actions/script-steps.ts'
import { NotStarted } from '../actions/scripts.ts'
import { writeHeld } from '../held-writes.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import { owe } from './owe-receipt.ts'
import { isLeft, waitsForDisk } from './refusal.ts'

/** Whether something is to be done once the file is in its place. */
export function hasAction({ channel }: TransferPlan, file: TransferFileRecord): boolean {
  const {
    postReceptionAction: action,
    postReceptionDirectory,
    postReceptionFile,
  } = channel.integrations ?? {}
  if (action === 'RECEPTION_MOVE') return postReceptionDirectory !== undefined && file.content === 'FILE'
  return action === 'RECEPTION_EXECUTE' && postReceptionFile !== undefined
}

/** A script that has refused its file is not run again. */
export function runsScript({ channel }: TransferPlan): boolean {
  return channel.integrations?.postReceptionAction === 'RECEPTION_EXECUTE'
}

/**
 * Throws when the action fails; the partner then hears of it too, unless it is tried again (waitsForDisk): then it hears of it
 * when the reception ends FAILED all the same. `takenOver` is for a node that goes on with a reception, as often as one of
 * its files waits for a disk: it tells of a failure with the end alone. `again`: an earlier run had put the file in place. It
 * may have acted, and died before it wrote so.
 */
export async function finishFile(
  running: RunningTransfer,
  file: TransferFileRecord,
  owesReceipts: boolean,
  takenOver?: { again: boolean },
): Promise<void> {
  const { context, held } = running
  try {
    const pathPost = await act(running, file, takenOver?.again === true)
    await writeHeld(context.store, held, (tx) => recordDone(tx, running, file, { pathPost, owesReceipts }))
    file.phase = 'DONE'
  } catch (failure) {
    const later = actsLater(running, file, failure)
    if (owesReceipts && !isLeft(failure)) {
      if (later ?? takenOver) running.unsaid.push({ file, failure })
      else await writeHeld(context.store, held, (tx) => owe(running, file, tx, failure))
    }
    throw later ?? failure
  }
}

/** What the reception waits for if the action cannot be done now, and the channel lets it be tried again. */
function actsLater(
  { transfer, plan }: RunningTransfer,
  { name }: TransferFileRecord,
  failure: unknown,
): unknown {
  const { connection } = plan.channel
  // Otherwise it may have done its work: it is not run again.
  if (runsScript(plan) && !(failure instanceof NotStarted)) return undefined
  if (transfer.attempts >= (connection?.advancedConfigurationConnection?.retries ?? 0)) return undefined
  const what = runsScript(plan) ? 'its script could not be started' : 'could not be moved'
  const later = new NodeError('unavailable', `${name} is here, but ${what}`, { cause: failure })
  return waitsForDisk(later) === undefined ? undefined : later
}

/** The file is done, and its receipt owed, in the caller's write. */
export async function recordDone(
  tx: Tx,
  running: RunningTransfer,
  file: TransferFileRecord,
  { pathPost, owesReceipts }: { pathPost: string | null; owesReceipts: boolean },
): Promise<void> {
  const action = running.plan.channel.integrations?.postReceptionAction ?? null
  const done = { phase: 'DONE', position: file.position, action_post: action, path_post: pathPost }
  await updateFile(tx, running.held, file.index, done, file)
  if (owesReceipts) await owe(running, file, tx, undefined)
}

async function act(
  running: RunningTransfer,
  file: TransferFileRecord,
  again: boolean,
): Promise<string | null> {
  if (!hasAction(running.plan, file)) return null
  const {
    postReceptionAction: action,
    postReceptionDirectory = '',
    postReceptionFile = '',
    postReceptionRename,
  } = running.plan.channel.integrations ?? {}
  if (action === 'RECEPTION_MOVE')
    return moveReceived(running, file, {
      directory: postReceptionDirectory,
      rename: postReceptionRename === true,
      mayBeTaken: again,
    })
  await runStep(running, 'postReception', postReceptionFile, file)
  return null
}

async function moveReceived(
  running: RunningTransfer,
  file: TransferFileRecord,
  to: Pick<MoveTo, 'directory' | 'rename' | 'mayBeTaken'>,
): Promise<string | null> {
  const now = await ifThere(stat(file.path), file.path)
  const modifiedAt = now ? Math.floor(now.mtimeMs) : null
  const original = { path: file.path, size: file.size, hash: file.hash, modifiedAt }
  return moveOriginal(original, { ...to, ...placesOf(running) })
}
