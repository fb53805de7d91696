// The commands around a file's octets: its offer, and its end with the partner's verdict.
import { NodeError } from '../../../errors.ts'
import type { WireFile } from '../transport.ts'
import type { Conversation } from './conversation.ts'
import type { DataEncoder } from './data/encode.ts'
import { isFirstDeadSession } from './dead-sessions.ts'
import { ending, errorOfFileAnswer, fault } from './protocol/reasons.ts'
import type { RestartPoint, WireShape } from './restart.ts'
import { startFile } from './start-file.ts'

/** Runs are looked for where the channel wants it and there can be any: not in what is compressed or encrypted. */
export function isPacked({ agreed }: Conversation, { compress, envelope }: WireFile): boolean {
  return agreed.compression && compress !== false && !envelope?.compressed && !envelope?.encrypted
}

/** Offers the file; gives the position that the partner wants it from. */
export async function offerFile(
  conversation: Conversation,
  file: WireFile,
  offered: RestartPoint,
): Promise<number | 'there'> {
  const answer = await conversation.ask(startFile(file, conversation.known, offered)).catch((thrown) => {
    throw deadLine(conversation, file, thrown)
  })
  // An earlier attempt ended before the answer to its EFID was recorded. `Duplicate` is that answer, come late. It was
  // EFPA, or the partner would not have the file: this key was never given to another one. An EFNA takes `mayBeThere`
  // back, so a refused file that is offered again and is a duplicate fails. If a crash came between that EFNA and the
  // record of it, 13 is still the partner's word that it has the file, and there is no better one to have: to send it
  // anew under another key would bring it twice wherever an EFPA was lost.
  if (answer.kind === 'SFNA' && answer.reason === '13' && file.mayBeThere) return 'there'
  if (answer.kind === 'SFNA')
    throw errorOfFileAnswer('SFNA', answer.reason, answer.text, answer.retry === 'Y')
  if (answer.kind !== 'SFPA') throw new NodeError('internal', `${answer.kind} answers SFID`)
  if (answer.position > BigInt(offered.units)) {
    const error = fault(
      '02',
      `the partner wants to go on at ${answer.position}, beyond the offered ${offered.units}`,
    )
    conversation.abort(error)
    throw error
  }
  conversation.credit.renew(conversation.agreed.credit)
  return Number(answer.position)
}

/**
 * A session that is kept open may have died since its last file, and this one was not even heard of. That says nothing of
 * the partner: the file is to be offered in another session before it counts as failed.
 */
function deadLine({ carried }: Conversation, { name, transferId }: WireFile, thrown: unknown): unknown {
  const isDead = thrown instanceof NodeError && ['connection_lost', 'timed_out'].includes(thrown.code)
  if (!carried || !isDead || !isFirstDeadSession(transferId)) return thrown
  return new NodeError('unavailable', `the session was dead when ${name} was offered`, { cause: thrown })
}

export async function endFile(
  conversation: Conversation,
  shape: WireShape,
  encoder: DataEncoder,
): Promise<void> {
  const { records, position } = encoder
  const octets = shape.kind === 'variable' ? position - 2 * records : position
  const answer = await conversation.ask({ kind: 'EFID', records: BigInt(records), octets: BigInt(octets) })
  if (answer.kind === 'EFNA') throw errorOfFileAnswer('EFNA', answer.reason, answer.text, false)
  if (answer.kind !== 'EFPA') throw ending('internal', '99', `${answer.kind} answers EFID`)
  if (answer.changeDirection === 'Y') conversation.say({ kind: 'CD' })
}
