// Turns the received bytes into the file that the channel wants: decrypted, unpacked, verified, translated, on disk and
// synced. If the file does not open or is not signed, this throws and leaves only the received bytes.

import { readFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { NodeError, fromFileError } from '../../errors.ts'
import { DiskRoom } from '../../files/disk-room.ts'
import { UNPACKED } from '../../files/quarantine.ts'
import type { EngineContext } from '../engine-context.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import type { TransferPlan } from '../transfer-plan.ts'
import { FileSource, piecesOf } from '../staging/file-source.ts'
import { openedName } from '../staging/gz-name.ts'
import { noteEncryption } from '../staging/note-encryption.ts'
import type { Inbound } from './route-offer.ts'
import type { ReceivingContext } from './receiving-context.ts'
import { FileHash, RecordHash } from '../staging/hash-thread.ts'
import { isQuick, localPath, stage } from '../staging/staging.ts'
import type { Step } from '../transforms/step.ts'
import type { FileFlaw, Offer } from '../transports/transport.ts'
import { incomingSteps, openingLimit } from '../staging/wire-form.ts'

export type Received = { path: string; size: number; sha256: string }

/** `path` is the received file itself if both forms are the same, otherwise a file beside it. */
export type Unwrapped = {
  path: string
  size: number
  hash: string
  /** What the receipt shows; without receipts what tells whether a file that is offered again is the same. */
  wireHash: string | null
  /** Another than it came under: it was gzip, and its name said so. */
  name?: string
}

export async function unwrap(
  receiving: ReceivingContext,
  running: RunningTransfer,
  inbound: Inbound,
  offer: Offer,
  received: Received,
): Promise<Unwrapped> {
  try {
    return await unwrapChecked(receiving, running, inbound, offer, received)
  } catch (thrown) {
    if (thrown instanceof NodeError && thrown.code === 'bad_signature')
      await openUnchecked(receiving, running, inbound, offer, received)
    throw thrown
  }
}

/**
 * The file goes into quarantine. Whoever looks at it there wants to see, and maybe to release, what was signed: it is
 * taken out now, while all that it takes is known. What does not open stays as it came.
 */
async function openUnchecked(
  { context, capabilities }: ReceivingContext,
  { plan, signal }: RunningTransfer,
  { directory }: Inbound,
  offer: Offer,
  { path, size }: Received,
): Promise<void> {
  try {
    const wire = { plan, directory, capabilities, codePage: context.codePage, policy: context.policy }
    let unpacked = false
    const isGzip = openedName(offer.name) === undefined ? undefined : () => void (unpacked = true)
    const arrived = { ...offer, isGzip }
    const steps = incomingSteps(
      wire,
      arrived,
      openingLimit(wire, size, maxOpened(context, plan)),
      'unchecked',
    )
    await using source = await FileSource.open(path, undefined, RECEIVED)
    const room = new DiskRoom(dirname(path), context.limits.diskReserveOctets)
    await stage(piecesOf(source, signal), [...steps, room.step], localPath(path))
    if (unpacked) await rename(localPath(path), localPath(path) + UNPACKED)
  } catch (thrown) {
    context.log.info({ err: thrown, path }, 'a file for quarantine does not open')
  }
}

async function unwrapChecked(
  { context, capabilities }: ReceivingContext,
  running: RunningTransfer,
  { directory }: Inbound,
  offer: Offer,
  received: Received,
): Promise<Unwrapped> {
  const { plan, signal } = running
  // Checked here and not at the offer: a file without a signature must fail its transfer and go into quarantine.
  if (capabilities.envelopes && plan.signedFilesOnly && !offer.envelope?.signed)
    throw new NodeError('bad_signature', `channel ${plan.code} takes signed files alone`, {
      cause: { flaw: 'unsigned' } satisfies FileFlaw,
    })
  const wireHash = capabilities.receipts ? await receiptHash(received, offer, signal) : received.sha256
  const opened = openedName(offer.name)
  let name: string | undefined
  const isGzip = opened === undefined ? undefined : () => void (name = opened)
  const wire = { plan, directory, capabilities, codePage: context.codePage, policy: context.policy }
  const limit = openingLimit(wire, received.size, maxOpened(context, plan))
  const steps = incomingSteps(wire, { ...offer, isGzip }, limit)
  if (steps.length === 0) return { path: received.path, size: received.size, hash: received.sha256, wireHash }
  const path = localPath(received.path)
  const room = new DiskRoom(dirname(path), context.limits.diskReserveOctets)
  const sha256 = new FileHash(['sha256'])
  const all = [...steps, room.step, hashedBy(sha256)]
  const size = await stage(bytesOf(received.path, signal), all, path)
  // It opened, so it was encrypted; where protocols do not say so before.
  if (plan.encryptFiles) await noteEncryption(running)
  const [hash = ''] = await sha256.digest()
  return { path, size, hash, wireHash, ...(name !== undefined && { name }) }
}

/** The octets pass as they are. If not all of them do, the hash is dropped. */
function hashedBy(hash: FileHash): Step {
  return async function* hashed(source) {
    let whole = false
    try {
      for await (const chunk of source) {
        await hash.update(chunk)
        yield chunk
      }
      whole = true
    } finally {
      if (!whole) hash.drop()
    }
  }
}

/** Small files come by the thousand, and are read in this thread. */
async function* bytesOf(path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (isQuick(path)) {
    yield readQuick(path)
    return
  }
  await using source = await FileSource.open(path, undefined, RECEIVED)
  yield* piecesOf(source, signal)
}

/** What errors call it: its path in the data folder tells nobody anything. */
const RECEIVED = 'the received file'

function readQuick(path: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch (thrown) {
    throw fromFileError(thrown, RECEIVED)
  }
}

function maxOpened({ limits }: EngineContext, { maxOpenedOctets }: TransferPlan): number {
  return maxOpenedOctets ?? limits.maxOpenedOctets
}

/**
 * The hash that our receipt shows: of the bytes as transmitted, in the digest that the partner announced. Only in an
 * envelope are the lengths of V records among them; of a plain file they are this node's own.
 */
async function receiptHash(
  { path, sha256 }: Received,
  { receiptDigest: digest, format, envelope }: Offer,
  signal: AbortSignal,
): Promise<string | null> {
  const isPlainV = format.kind === 'V' && envelope === undefined
  if (digest === undefined) return null
  if (digest === 'sha256' && !isPlainV) return sha256
  const hash = isPlainV ? new RecordHash([digest]) : new FileHash([digest])
  try {
    for await (const piece of bytesOf(path, signal)) await hash.update(piece)
  } catch (thrown) {
    hash.drop()
    throw thrown
  }
  return (await hash.digest())[0] ?? null
}
