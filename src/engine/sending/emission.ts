// A transfer that is being sent, with the session it goes through.

import type { Channel, Directory } from '../../contract/channel.ts'
import { directoriesFor } from '../../domain/channel.ts'
import type { TransferFileRecord, TransferRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { outboundDirectoryOf } from '../../files/send-set.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import type { Capabilities, PartnerAnswer, Session } from '../transports/transport.ts'
import type { Lines } from './lines.ts'

export type Emission = RunningTransfer & {
  session: Session
  capabilities: Capabilities
  /** False: the partner takes no compressed envelopes, by its protocol or because it said so. */
  unpacks: boolean
  /** What the files go over, one by one: that session, and others beside it. */
  lines: Lines
  /** Nobody has tried these files under their keys before, but for those that may be there. */
  firstTry?: boolean
}

/**
 * The number that the file was picked up with is one of the channel as it was then. The transfer may have waited for hours
 * before it started, or be a retry, and its own copy of the channel may list other directories, or the same in another
 * order.
 */
export function directoryOf(emission: Emission, file: TransferFileRecord): Directory {
  const { plan } = emission
  if (file.content === 'CERTIFICATE') return {}
  const found = outboundDirectoryOf(plan.channel, file.path, file.directory) ?? renamedDirectory(emission)
  if (found) return found
  throw new NodeError('file_refused', `${file.path} is in no outbound directory of the channel any more`)
}

/**
 * The only outbound directory, where none of the files lies in it: its path was changed since they were picked up
 * (operation 10). They still go, as it says.
 */
function renamedDirectory({ plan, transfer }: Emission): Directory | undefined {
  const known = renamed.get(transfer)
  if (known?.channel === plan.channel) return known.directory
  const [only, ...others] = directoriesFor(plan.channel, 'EMISION')
  const isRenamed =
    others.length === 0 &&
    transfer.files.every(({ path, directory }) => !outboundDirectoryOf(plan.channel, path, directory))
  const directory = isRenamed ? only?.directory : undefined
  renamed.set(transfer, { channel: plan.channel, directory })
  return directory
}

/** Asked for each file of a transfer, and the same for all of them. */
const renamed = new WeakMap<TransferRecord, { channel: Channel; directory: Directory | undefined }>()

export function wantsSignedReceipt({ capabilities, plan }: Emission): boolean {
  return (
    capabilities.receipts &&
    (plan.verifyHash || plan.awaitReceipt) &&
    plan.security.rsaRemoteKey !== undefined
  )
}

/** By receipt, unless the transport itself can tell the hash at the other end. */
export function wantsReceipt({ plan, capabilities }: Emission): boolean {
  return plan.awaitReceipt || (plan.verifyHash && !capabilities.remoteHash)
}

/** The error stands for the partner's answer that it takes no compressed files. */
export function isCompressionRefused(error: unknown): boolean {
  return answerIn(error).refuses === 'compression'
}

/** The error stands for the partner's answer, after the whole file, that it does not have it. */
export function isNotPlaced(error: unknown): boolean {
  return answerIn(error).placed === false
}

function answerIn(error: unknown): PartnerAnswer {
  const cause: unknown = error instanceof Error ? error.cause : undefined
  return typeof cause === 'object' && cause !== null ? cause : {}
}
