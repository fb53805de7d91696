// A file that does not get to its place: what came of it is kept for a resumption, put into quarantine or removed, and
// its transfer fails.

import { NodeError } from '../../errors.ts'
import type { FileKey } from '../../store/transfers/receptions.ts'
import { removeHalfFile } from '../../store/transfers/receptions.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import { removeReceived } from '../staging/staging.ts'
import { failReception } from './fail-reception.ts'
import type { PartFile } from './part-file.ts'
import { quarantine } from './quarantine.ts'
import type { ReceivingContext } from './receiving-context.ts'

export type Abandoned = {
  receiving: ReceivingContext
  key: FileKey
  name: string
  /** Undefined: it was not even opened. */
  file: PartFile | undefined
  /** Undefined: it has no transfer yet. It may get one while it is being abandoned. */
  running: () => RunningTransfer | undefined
  /** It joined a fetch: the transfer is the fetch's to end. */
  joined: boolean
}

export async function abandonFile(abandoned: Abandoned, given: unknown, keep: boolean): Promise<void> {
  const { receiving, key, file } = abandoned
  const signal = abandoned.running()?.signal
  const reason: unknown = signal?.aborted ? signal.reason : given
  const done = await putAway(abandoned, reason, keep)
  receiving.memory.failed(key, reason, receiving.context.now())
  const ours = await failTransfer(abandoned, reason)
  if (done && ours && file) await remove(abandoned, file.path)
}

/** Keeps it for a resumption or puts it into quarantine. True: nobody needs the bytes here any more. */
async function putAway(
  { receiving, key, name, file, running }: Abandoned,
  reason: unknown,
  keep: boolean,
): Promise<boolean> {
  const { context } = receiving
  const code = reason instanceof NodeError ? reason.code : undefined
  const resumable = keep && code !== 'cancelled' && key.date !== ''
  if (resumable) await file?.keepAll().catch(() => {})
  await file?.close()
  // Another node may hold the transfer now and work on the same file.
  if (!file || resumable || code === 'lease_lost' || isUnavailable(reason)) return false
  const transfer = running()?.transfer
  if (transfer && (code === 'bad_signature' || code === 'bad_envelope'))
    await quarantine(context, transfer, name, file.path, reason).catch((thrown: unknown) =>
      context.log.error({ err: thrown, path: file.path }, 'a refused file could not be put away'),
    )
  return true
}

/** Whether the file is ours alone now. Another node may have taken the transfer over while this one slept. */
async function failTransfer(abandoned: Abandoned, reason: unknown): Promise<boolean> {
  const { receiving, joined } = abandoned
  const running = abandoned.running()
  const { release, context } = receiving
  const reset = reason instanceof NodeError && reason.code === 'cancelled'
  if (!running || joined) return true
  const { held } = running
  const failed = await failReception(running, reason).catch((thrown: unknown) => {
    context.log.warn({ err: thrown, transfer: held.id }, 'a failed reception could not be recorded')
    return false
  })
  release(held)
  return failed || reset
}

async function remove({ receiving, key }: Abandoned, path: string): Promise<void> {
  const { context } = receiving
  try {
    await removeReceived(path)
    await context.store.write((tx) => removeHalfFile(tx, key, path))
  } catch (thrown) {
    context.log.error({ err: thrown, path }, 'a refused file could not be removed')
  }
}

export function isUnavailable(thrown: unknown): boolean {
  return thrown instanceof NodeError && thrown.code === 'unavailable'
}
