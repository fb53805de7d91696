// Small files that go by the dozen, where the session takes them so (transports/small-batches.ts). The order of writes is
// that of send-files.ts, each step for a whole batch: prepared where the partner does not see them, noted, placed,
// recorded. Whatever does not go this way is left to the usual one: it finds what was noted and what lies there, and tells
// the fault. So is the action after sending.
//
// Where what is prepared lies under names that show any later attempt what was placed, nothing is noted. The claim is looked
// at instead, when all of them lie there: who takes the transfer over after that finds them, and shuts them out.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import type { ProgressMeter } from '../events.ts'
import { requireHeldNow } from '../../store/transfers/leases.ts'
import type { Tx } from '../../store/database/store.ts'
import { noteEncryption } from '../staging/note-encryption.ts'
import type { PreparedFile, SmallBatches, SmallFile } from '../transports/small-batches.ts'
import { wantsReceipt } from './emission.ts'
import type { Emission } from './emission.ts'
import type { FailedFiles } from './failed-files.ts'
import { arrivedChanges, recordAll, remember } from './file-record.ts'
import type { FileChange } from './file-record.ts'
import { NOT_PLACED } from './push-progress.ts'
import { byTheDozen, confinedFiles, smallForm } from './small-files.ts'

/** While some are copied, others are synced, and others are placed and recorded. */
const BATCHES_AT_ONCE = 3
/** Fewer go as fast one by one. */
const MANY = 8

type Sending = { emission: Emission; small: SmallBatches; progress: ProgressMeter; failed: FailedFiles }

/** Resolves to the files that are left. Throws what ends the attempt, when no file is under way any more. */
export async function sendTogether(
  emission: Emission,
  files: readonly TransferFileRecord[],
  { progress, failed }: Pick<Sending, 'progress' | 'failed'>,
): Promise<readonly TransferFileRecord[]> {
  const { session, plan, signal, firstTry } = emission
  const { small } = session
  const checked = plan.verifyHash || wantsReceipt(emission)
  const scripted = plan.channel.integrations?.preEmisionFile !== undefined
  if (!small || !firstTry || checked || scripted) return files
  const formOf = smallForm(emission)
  const together = files.filter((file) => formOf(file))
  if (together.length < MANY) return files
  if (session.encrypted) await noteEncryption(emission)
  const gone = new Set<TransferFileRecord>()
  const sending = { emission, small, progress, failed }
  const batches = byTheDozen(together, small.mostOctets).values()
  let isOver = false
  const sendSome = async () => {
    for (const some of batches) {
      if (isOver || signal.aborted) return
      try {
        for (const file of await sendBatch(sending, some)) gone.add(file)
      } catch (thrown) {
        isOver = true
        throw thrown
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: BATCHES_AT_ONCE }, sendSome))
  signal.throwIfAborted()
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return files.filter((file) => !gone.has(file))
}

type Placed = { file: TransferFileRecord; prepared: PreparedFile }

/** Gives those that need nothing more. */
async function sendBatch(
  { emission, small, progress, failed }: Sending,
  files: readonly TransferFileRecord[],
): Promise<TransferFileRecord[]> {
  const { context, plan, signal } = emission
  const giveBack = await context.slots.take(signal, plan.contact.id, 'dozen')
  try {
    const ready = await prepare(emission, small, files)
    if (ready.length === 0) return []
    await allow(emission, small, ready)
    const ends = await Promise.all(ready.map(({ prepared }) => prepared.place()))
    const placed = ready.filter((_, nth) => ends[nth] === 'placed')
    const inDoubt = ready.filter((_, nth) => ends[nth] === 'unknown')
    const refused = ready.filter((_, nth) => ends[nth] === 'refused')
    await small.synced()
    await recordAll(emission, [
      ...placed.map(({ file, prepared: { sha256: hash } }) => ({
        file,
        changes: arrivedChanges(emission, { hash, wireHash: hash, size: file.size ?? 0, receipt: 'NONE' }),
        also: (tx: Tx) => remember(emission, { ...file, hash }, tx),
      })),
      ...inDoubt.map(mayBeVisible),
      // What has their names may hold the same. It must not be taken for them.
      ...(small.marks ? [] : refused.map(({ file }) => ({ file, changes: NOT_PLACED }))),
    ])
    for (const { prepared } of refused) prepared.drop()
    for (const { file, prepared } of placed) {
      prepared.settled()
      progress.moved({ index: file.index, name: file.name, size: file.size ?? 0 }, file.size ?? 0)
      progress.fileDone(file.index, file.size ?? 0)
      failed.oneHasGone()
    }
    return placed.flatMap(({ file }) => (file.phase === 'DONE' ? [file] : []))
  } finally {
    giveBack()
  }
}

async function prepare(
  emission: Emission,
  small: SmallBatches,
  all: readonly TransferFileRecord[],
): Promise<Placed[]> {
  const { transfer, held, plan, signal } = emission
  const files = confinedFiles(emission, all)
  if (files.length === 0) return []
  const prepared = await small.prepare(
    files.map((file): SmallFile => ({
      transferId: transfer.id,
      attempt: held.fence,
      application: plan.application,
      key: { name: file.keyName, date: file.keyDate, time: file.keyTime },
      name: file.name,
      path: file.path,
      expected: { size: file.size ?? 0, modifiedAt: file.modifiedAt ?? 0 },
    })),
    signal,
  )
  return files.flatMap((file, nth) => {
    const one = prepared[nth]
    return one ? [{ file, prepared: one }] : []
  })
}

/** Right before the partner may see them. Where the attempt is over by then, nothing of them stays there. */
async function allow(emission: Emission, small: SmallBatches, ready: readonly Placed[]): Promise<void> {
  const { context, held, signal } = emission
  try {
    signal.throwIfAborted()
    if (small.marks) await requireHeldNow(context.store.db, held)
    else await recordAll(emission, ready.map(mayBeVisible))
    signal.throwIfAborted()
  } catch (thrown) {
    for (const { prepared } of ready) prepared.drop()
    throw thrown
  }
}

function mayBeVisible({ file, prepared }: Placed): FileChange {
  return { file, changes: { phase: 'STAGED', maybeVisible: true, wireHash: prepared.sha256 } }
}
