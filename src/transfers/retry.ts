// Retry: a new transfer with the files of a failed one, which goes on from the failed one's last restart point. It
// takes the channel's latest failure that can be retried from here and was neither retried nor reset. It does not
// matter what has ended since.

import { lstat } from 'node:fs/promises'
import { goes } from '../domain/channel.ts'
import type { TransferFileRecord, TransferRecord } from '../domain/transfer.ts'
import { NodeError } from '../errors.ts'
import type { ChannelRecord } from '../store/channels.ts'
import { lastEnded, lastRetriable, lastUnsettled } from '../store/transfers/failures.ts'
import type { Ended } from '../store/transfers/failures.ts'
import { lastSent } from '../store/transfers/sent-files.ts'
import { activeTransfers, findTransfer } from '../store/transfers/transfers.ts'
import { keyOf } from './file-keys.ts'
import { firstPhase, hashIfSent, lookAndInsert, requireOpen } from './request.ts'
import type { Asking, Insertion } from './request.ts'

export function requestRetry(asking: Asking, channel: ChannelRecord): Promise<TransferRecord> {
  return lookAndInsert(asking, channel, () => lookForRetry(asking, channel))
}

async function lookForRetry(asking: Asking, channel: ChannelRecord): Promise<Insertion> {
  const failed = await failureToRetry(asking, channel)
  const { id, direction } = failed
  requireOpen(channel.config, direction)
  if (!goes(channel.config, direction))
    throw new NodeError('conflict', `the direction of channel ${channel.code} no longer allows ${direction}`)
  const active = (await activeTransfers(asking.store.db, channel.code)).find(
    (one) => one.direction === direction,
  )
  if (active)
    throw new NodeError('conflict', `a transfer in the same direction is ${active.state}: ${active.id}`)
  const now = asking.now()
  const found = (await findTransfer(asking.store.db, id))?.files ?? []
  if (direction === 'EMISION') for (const file of found) await requireSendable(asking, channel, id, file)
  const begins = firstPhase(channel)
  const files = found.map((file) => toTryAgain(file, begins, now))
  const receiptsSeen = found.filter(({ receipt }) => receipt === 'AWAITED').length
  return { type: 'RETRY', files, now, retryOf: failed, receiptsSeen }
}

async function failureToRetry({ store: { db } }: Asking, { code }: ChannelRecord): Promise<Ended> {
  const failed = await lastRetriable(db, code)
  if (failed) return failed
  const theirs = await lastUnsettled(db, code)
  if (theirs)
    throw new NodeError(
      'conflict',
      `transfer ${theirs.id} was started by the partner: only the partner can send it again`,
    )
  const ends = [
    ['emission', await lastEnded(db, code, 'EMISION')] as const,
    ['reception', await lastEnded(db, code, 'RECEPCION')] as const,
  ].flatMap(([what, last]) => (last ? [`the last ${what}, ${last.id}, is ${stateOf(last)}`] : []))
  const why = ends.length > 0 ? ends.join('; ') : 'it has no transfer that ended'
  throw new NodeError('conflict', `there is nothing to retry on channel ${code}: ${why}`)
}

function stateOf({ state, settled }: Ended): string {
  return settled ? `${state} and was retried or reset already` : state
}

/**
 * A file goes on where it stopped, with two exceptions. If the partner's receipt said no, it is sent again under a new
 * key, because the partner knows the old one. If a received file could not be put in place, its bytes are gone and it is
 * fetched again.
 */
function toTryAgain(file: TransferFileRecord, begins: 'WAITING' | 'STAGED', now: number): TransferFileRecord {
  if (file.receipt === 'NEGATIVE')
    return { ...file, ...ANEW, phase: begins, ...NO_RECEIPT, ...keyOf(now, file.index) }
  return file.phase === 'WHOLE' ? { ...file, ...ANEW, phase: 'MOVING', path: '' } : file
}

const NO_RECEIPT = { receipt: 'NONE', receiptReason: null, receiptAt: null } as const
const ANEW = { position: 0, maybeVisible: false, hash: null, wireHash: null, stagedPath: null }

/**
 * Checks only files that still have to be sent: the post-action may have removed those that arrived. Another transfer may
 * have sent the file since. It is not sent twice if the channel does not allow that. What was sent before the failed one was
 * asked for does not count: a resend is asked for because of it.
 */
async function requireSendable(
  asking: Asking,
  { code, config }: ChannelRecord,
  failedId: string,
  file: TransferFileRecord,
): Promise<void> {
  const { content, phase, path, name, size, modifiedAt, receipt } = file
  const mustTravel = phase === 'WAITING' || phase === 'STAGED' || receipt === 'NEGATIVE'
  if (!mustTravel || content === 'CERTIFICATE') return
  const stat = await lstat(path).catch(() => undefined)
  if (!stat?.isFile()) throw new NodeError('conflict', `${path} is gone: it cannot be retried`)
  if (stat.size !== size || Math.floor(stat.mtimeMs) !== modifiedAt)
    throw new NodeError('conflict', `${path} has changed since: send it anew`)
  // It was sent, but its receipt said no: so it has not arrived.
  if (config.allowSendDuplicateFiles || receipt === 'NEGATIVE' || size === null) return
  const candidate = { name, path, size, modifiedAt: stat.mtimeMs, changedAt: stat.ctimeMs }
  const hash = await hashIfSent(asking, code, candidate)
  if (hash === undefined) return
  const last = await lastSent(asking.store.db, { channelCode: code, name, hash, size }, failedId)
  if (last === 'before') return
  const how = last === 'since' ? 'by another transfer since' : 'already'
  throw new NodeError('conflict', `${path} was sent ${how}, and allowSendDuplicateFiles is false`)
}
