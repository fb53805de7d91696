// A file that does not get to its place: what came of it is kept for a resumption, put into quarantine or removed. Its
// reception ends FAILED by it, and goes on with the other files until then; only a line that broke closes it.

import { NodeError, naming } from '../../errors.ts'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { updateFile } from '../../store/transfers/leases.ts'
import type { FileKey } from '../../store/transfers/receptions.ts'
import { findReceived, removeHalfFile } from '../../store/transfers/receptions.ts'
import { insertFiles } from '../../store/transfers/transfers.ts'
import { writeHeld } from '../held-writes.ts'
import { removeReceived } from '../staging/staging.ts'
import type { Offer } from '../transports/transport.ts'
import type { Part, Whole } from './part-file.ts'
import { quarantine } from './quarantine.ts'
import type { ReceivingContext } from './receiving-context.ts'
import type { Reception } from './reception.ts'
import { isUnavailable } from './refusal.ts'

export type Abandoned = {
  receiving: ReceivingContext
  key: FileKey
  offer: Pick<Offer, 'name' | 'fetched'>
  record: TransferFileRecord
  /** Undefined: it was not even opened. */
  file: Part | undefined
  /** Undefined: it is part of none yet. It may become part of one while it is being abandoned. */
  reception: () => Reception | undefined
  /** It has its row. */
  written: () => boolean
}

export async function abandonFile(abandoned: Abandoned, given: unknown, keep: boolean): Promise<void> {
  const { receiving, key, offer, file } = abandoned
  const signal = abandoned.reception()?.running.signal
  const reason: unknown = signal?.aborted ? signal.reason : given
  const done = await putAway(abandoned, reason, keep)
  receiving.memory.failed(key, reason, receiving.context.now())
  const ours = await takeBack(abandoned, reason)
  if (done && ours && file) await remove(abandoned, file.path)
  const reception = abandoned.reception()
  if (!reception) return
  reception.refuse(naming(reason, offer.name))
  // A fetch goes on with the next file: closed, it would stand in the way of its own.
  if (keep) reception.letGo()
}

/**
 * Whether another transfer has put the very same file in place while it came here: then nothing of it is needed, and it is
 * no reason to fail.
 */
export async function isHereAlready(
  abandoned: Abandoned,
  reason: unknown,
  whole: Whole | undefined,
): Promise<boolean> {
  const { receiving, key, file, offer, written } = abandoned
  if (!file || written() || !(reason instanceof NodeError) || reason.code !== 'duplicate_file') return false
  // A database that does not answer now does not say so.
  const received = await findReceived(receiving.context.store.db, key).catch(() => undefined)
  if (received === undefined || received.size !== whole?.size) return false
  // Its name, size and time may be those of another file.
  if (offer.fetched && received.wireHash !== whole.sha256) return false
  await file.close()
  await remove(abandoned, file.path)
  return true
}

/** Keeps it for a resumption or puts it into quarantine. True: nobody needs the bytes here any more. */
async function putAway(
  { receiving, key, offer, file, reception }: Abandoned,
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
  const transfer = reception()?.running.transfer
  if (transfer && (code === 'bad_signature' || code === 'bad_envelope'))
    await quarantine(context, transfer, offer.name, file.path, reason).catch((thrown: unknown) =>
      context.log.error({ err: thrown, path: file.path }, 'a refused file could not be put away'),
    )
  return true
}

/**
 * Whether the file is ours alone now: another node may have taken the transfer over while this one slept. A row that says
 * WHOLE says so no longer, before the bytes go: a node that takes the transfer over would count it as placed.
 */
async function takeBack(
  { receiving, record, reception, written }: Abandoned,
  reason: unknown,
): Promise<boolean> {
  const running = reception()?.running
  const { context } = receiving
  if (!running || (reason instanceof NodeError && reason.code === 'cancelled')) return true
  const { held } = running
  try {
    await writeHeld(context.store, held, async (tx) => {
      if (!written()) await insertFiles(tx, running.transfer.id, [{ ...record, ...TAKEN_BACK }])
      else await updateFile(tx, held, record.index, { phase: 'MOVING', path: '', staged_path: null })
    })
    return true
  } catch (thrown) {
    if (thrown instanceof NodeError && thrown.code === 'cancelled') return true
    context.log.warn({ err: thrown, transfer: held.id }, 'a refused file could not be recorded')
    return false
  }
}

const TAKEN_BACK = { phase: 'MOVING', path: '', stagedPath: null } as const

async function remove({ receiving, key }: Abandoned, path: string): Promise<void> {
  const { context } = receiving
  try {
    await removeReceived(path)
    await context.store.write((tx) => removeHalfFile(tx, key, path))
  } catch (thrown) {
    context.log.error({ err: thrown, path }, 'a refused file could not be removed')
  }
}
