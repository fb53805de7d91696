// Sends one claimed transfer, file by file, or small files by the dozen (send-together.ts). The order of writes, each
// durable before the next step:
//
//   1 started   state IN_PROGRESS with the channel's configuration; history TRANSFER_STARTED
//   2 staged    pre-script done, wire form synced to disk if it differs from the file (STAGED)
//   3 placing   the file is still the one that was picked up; noted just before the partner can see it, so that a
//               later attempt looks before sending again, and that a receipt may come from now on. Of small files
//               (small-files.ts) it is noted before their turn comes, for many in one write, and taken back if it never
//               comes, or not at all (send-together.ts). It is also taken back if the partner then says that it does not
//               have the file
//   4 arrived   the partner holds it: ARRIVED, its hash, and the memory against duplicates, in one write (where a
//               receipt is awaited that memory is written when it has come), of small files for many together
//   5 action    delete, move or execute, and only then DONE
//   6 over      COMPLETED when every file is done; or it waits for receipts; history with it
//
// A file that cannot go for itself (gone, changed, refused, its name taken) holds up no other: they go, and the transfer
// fails naming it, after the receipts of those that went. Any other fault ends the attempt; the caller decides between
// another attempt and failure.

import { rm } from 'node:fs/promises'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { makeProgress } from '../events.ts'
import type { ProgressMeter } from '../events.ts'
import { directoryOf, isCompressionRefused, wantsReceipt, wantsSignedReceipt } from './emission.ts'
import { endsOf, wantsCompression } from '../transfer-plan.ts'
import { noteCompressionRefused } from '../../store/contacts.ts'
import type { Emission } from './emission.ts'
import { arrivedChanges, record, remember } from './file-record.ts'
import { FileSource } from '../staging/file-source.ts'
import { READ_AHEAD_OCTETS, ReadAhead } from '../staging/read-ahead.ts'
import type { Outgoing } from '../staging/read-ahead.ts'
import { nameOnWire } from '../staging/gz-name.ts'
import { PROMPT_MS } from './lines.ts'
import { prepareFile } from './prepare-file.ts'
import { requireSameHash, watchPush } from './push-progress.ts'
import { sendTogether } from './send-together.ts'
import { SmallFiles } from './small-files.ts'
import { actOnSent, isConfirmed, isUnconfirmed } from './sent-action.ts'
import type { Tx } from '../../store/database/store.ts'
import { failedEmissions } from '../../store/transfers/failures.ts'
import type { NodeError } from '../../errors.ts'
import { FailedFiles } from './failed-files.ts'
import type { PushResult, WireFile } from '../transports/transport.ts'

const SHA256_HEX = 64
/** How many files of one transfer are under way at once. Each still waits for a place to work in. */
const FILES_AT_ONCE = 32
/** Where a session carries one file at a time: while one travels, the next are prepared and the last is recorded. */
const FILES_ON_A_LINE = 4
/** Of those that are made ready by the dozen: the next one goes when the partner has answered the last. */
const READY_FILES_ON_A_LINE = 2
/**
 * Other small ones, where the partner answers at once. On a long line the next ones are better left to other lines, as they are
 * where there are few: a line takes no more than a part of them.
 */
const SMALL_FILES_ON_A_LINE = 16
const PART_OF_ALL = 16

/**
 * Sends every file that is not done. Resolves to whether receipts are still to come, and to what the transfer fails by when
 * they have. Where none are, it throws that.
 */
export async function sendFiles(
  emission: Emission,
): Promise<{ receiptsAwaited: boolean; failure: NodeError | undefined }> {
  const { context, transfer, capabilities, plan } = emission
  const progress = progressOf(emission)
  const left = transfer.files.filter((file) => file.phase !== 'DONE')
  await settleDone(emission)
  const firstTry = await isFirstTry(emission)
  const failed = new FailedFiles()
  // Cutting such a session in the middle of a file would end it for every transfer on it. So files under way may finish.
  const signal = capabilities.oneFileAtATime
    ? emission.signal
    : AbortSignal.any([emission.signal, failed.cut])
  const sending = { ...emission, signal, firstTry }
  const alone = await sendTogether(sending, left, { progress, failed })
  const small = new SmallFiles(sending, alone, { progress, failed })
  await emission.lines.sendAll(alone, {
    atOnce: capabilities.oneFileAtATime ? onALine(emission, alone, small) : FILES_AT_ONCE,
    over: AbortSignal.any([signal, failed.signal]),
    failed: (file, thrown, session) => failed.add(file, thrown, session.ended.aborted),
    send: async (session, file) => {
      const giveBack = await context.slots.take(signal, plan.contact.id, file.size ?? 0)
      try {
        const ready = await small.take(file)
        if (ready) return await small.send(session, file, ready)
        const unpacks = emission.unpacks && session.unpacks !== false
        await sendFile({ ...sending, session, unpacks }, file, progress)
        failed.oneHasGone()
      } finally {
        giveBack()
      }
    },
  })
  await small.settled()
  emission.signal.throwIfAborted()
  const failure = failed.failure()
  const receiptsAwaited = transfer.files.some(isUnconfirmed)
  if (failure && !receiptsAwaited) throw failure
  return { receiptsAwaited, failure }
}

/** How many files of a line are under way, where it carries one at a time. */
function onALine({ session }: Emission, files: readonly TransferFileRecord[], small: SmallFiles): number {
  if (small.count === files.length && !small.act) return READY_FILES_ON_A_LINE
  const isPrompt = (session.answerMs ?? 0) < PROMPT_MS
  const areSmall = files.every(({ size }) => (size ?? 0) <= READ_AHEAD_OCTETS)
  const share = Math.min(SMALL_FILES_ON_A_LINE, Math.floor(files.length / PART_OF_ALL))
  return isPrompt && areSmall ? Math.max(share, FILES_ON_A_LINE) : FILES_ON_A_LINE
}

/** Automation keeps the keys of what failed before. */
async function isFirstTry({ context, transfer, held }: Emission): Promise<boolean> {
  if (held.fence > 1 || transfer.retryOf !== null) return false
  if (transfer.type !== 'AUTOMATIC') return true
  return (await failedEmissions(context.store.db, transfer.channelCode)).length === 0
}

/** Files that earlier attempts have finished need no marker at the partner's end any more. */
async function settleDone({ session, transfer }: Emission): Promise<void> {
  if (!session.settled || transfer.fence <= 1) return
  for (const { phase, keyName: name, keyDate: date, keyTime: time } of transfer.files)
    if (phase === 'DONE') await session.settled({ name, date, time })
}

function progressOf({ context, transfer }: Emission): ProgressMeter {
  const done = transfer.files.filter((file) => file.phase === 'DONE' || file.phase === 'ARRIVED')
  return makeProgress(
    context.publish,
    {
      transferId: transfer.id,
      channelCode: transfer.channelCode,
      direction: 'EMISION',
      totalBytes: sum(transfer.files),
      totalFiles: transfer.files.length,
      filesDone: done.length,
      bytesDone: sum(done),
      startAt: new Map(
        transfer.files.filter((file) => file.phase === 'STAGED').map((file) => [file.index, file.position]),
      ),
    },
    (octets) => context.counted('EMISION', octets),
  )
}

function sum(files: readonly TransferFileRecord[]): number {
  return files.reduce((total, file) => total + (file.size ?? 0), 0)
}

/** `file` changes with its row, so the caller sees how far it got. */
async function sendFile(
  emission: Emission,
  file: TransferFileRecord,
  progress: ProgressMeter,
): Promise<void> {
  if (file.phase === 'WAITING' || file.phase === 'STAGED') await deliver(emission, file, progress)
  // An earlier attempt recorded it, and may have died before it could tell the transport.
  else await emission.session.settled?.({ name: file.keyName, date: file.keyDate, time: file.keyTime })
  if (file.phase === 'ARRIVED' && !isUnconfirmed(file)) await actOnSent(emission, file)
}

async function deliver(emission: Emission, file: TransferFileRecord, progress: ProgressMeter): Promise<void> {
  try {
    await deliverAs(emission, file, progress)
  } catch (thrown) {
    if (!emission.unpacks || !isCompressionRefused(thrown)) throw thrown
    const { context, plan } = emission
    await context.store.write((tx) => noteCompressionRefused(tx, plan.contact.id, context.now()))
    // The same file without that layer, in the same session.
    await deliverAs({ ...emission, unpacks: false }, file, progress)
  }
}

async function deliverAs(
  emission: Emission,
  file: TransferFileRecord,
  progress: ProgressMeter,
): Promise<void> {
  const { format, envelope, suffix } = await prepareFile(emission, file, directoryOf(emission, file))
  await using source = await openWire(file)
  const wire: WireFile = {
    transferId: emission.transfer.id,
    key: { name: file.keyName, date: file.keyDate, time: file.keyTime },
    application: emission.plan.application,
    ends: endsOf(emission.plan),
    name: nameOnWire(file.name, suffix),
    source,
    format,
    envelope,
    originalSize: file.size ?? source.size,
    restartFrom: Math.min(file.position, source.size),
    signedReceipt: wantsSignedReceipt(emission),
    compress: wantsCompression(emission.plan),
    verify: emission.plan.verifyHash,
    mayBeThere: file.maybeVisible,
    attempt: emission.held.fence,
    again: file.maybeVisible || !emission.firstTry,
  }
  const watched = watchPush(emission, file, source, progress)
  let result: PushResult
  try {
    result = isConfirmed(file)
      ? { receipt: 'awaited', found: true, remoteSha256: undefined }
      : await emission.session.push(wire, watched, emission.signal)
    await watched.travelled()
  } catch (thrown) {
    await watched.broken(thrown)
    throw thrown
  } finally {
    // No restart point may be written after this, whatever happens.
    await watched.settled()
  }
  await arrived(emission, file, source, result)
  await emission.session.settled?.(wire.key)
  progress.fileDone(file.index, file.size ?? source.size)
}

function openWire(file: TransferFileRecord): Promise<Outgoing> {
  if (file.stagedPath !== null)
    return FileSource.open(file.stagedPath, undefined, `the prepared form of ${file.name}`)
  const expected = { size: file.size ?? 0, modifiedAt: file.modifiedAt ?? 0 }
  const isSmall = file.position === 0 && expected.size <= READ_AHEAD_OCTETS
  return isSmall ? ReadAhead.open(file.path, expected) : FileSource.open(file.path, expected)
}

async function arrived(
  emission: Emission,
  file: TransferFileRecord,
  source: Outgoing,
  result: PushResult,
): Promise<void> {
  const { plan, capabilities } = emission
  // `placing` has noted it. If not, the file of an earlier attempt was found at the other end.
  const wireHash = file.wireHash ?? (await source.receiptHash())
  // The one that was found may have travelled in another form.
  const sent = wireHash.length === SHA256_HEX && !result.found ? wireHash : await source.finish()
  const hash = file.stagedPath === null ? sent : (file.hash ?? sent)
  if (plan.verifyHash && capabilities.remoteHash && !result.found)
    requireSameHash(file, result.remoteSha256, wireHash)
  const waits = result.receipt === 'awaited' && wantsReceipt(emission)
  // `placing` has noted that a receipt is awaited, and it may have come since.
  const receipt = waits ? (file.receipt === 'NONE' ? 'AWAITED' : undefined) : 'NONE'
  const changes = arrivedChanges(emission, { hash, wireHash, size: source.size, receipt })
  const also = (tx: Tx) => (waits ? Promise.resolve() : remember(emission, { ...file, hash }, tx))
  await record(emission, file, changes, also)
  if (file.stagedPath !== null && !waits) await rm(file.stagedPath, { force: true })
}
