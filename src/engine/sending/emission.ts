// A transfer that is being sent, with the session it goes through.

import type { Directory } from '../../contract/channel.ts'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { NodeError } from '../../errors.ts'
import { outboundDirectoryOf } from '../../files/send-set.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import type { Capabilities, PartnerAnswer, Session } from '../transports/transport.ts'
import type { MoreLines } from './lines.ts'

export type Emission = RunningTransfer & {
  session: Session
  capabilities: Capabilities
  /** False: the partner takes no compressed envelopes, by its protocol or because it said so. */
  unpacks: boolean
  /** Left out where everything goes over the one session. */
  more?: MoreLines | undefined
  /** Nobody waits for one of its files alone: what is written of them may wait a little for each other. */
  manySmall?: boolean
}

/**
 * The number that the file was picked up with is one of the channel as it was then. The transfer may have waited for hours
 * before it started, or be a retry, and its own copy of the channel may list other directories, or the same in another
 * order.
 */
export function directoryOf({ plan }: Emission, file: TransferFileRecord): Directory {
  if (file.content === 'CERTIFICATE') return {}
  const found = outboundDirectoryOf(plan.channel, file.path, file.directory)
  if (found) return found
  throw new NodeError('file_refused', `${file.path} is in no outbound directory of the channel any more`)
}

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
