// One file from this end to the partner: SFID, DATA as far as the credit goes, EFID, and the partner's verdict.
//
// What was handed to the line is reported as safe. That may be too much, which costs nothing: the partner answers the next
// offer with no more than it really has (RFC 5024, 5.3.4). So restart points do not depend on how often credit is given.
import { NodeError } from '../../../errors.ts'
import type { PushProgress, PushResult, WireFile } from '../transport.ts'
import { BlockReader } from './data/block-reader.ts'
import type { Conversation } from './conversation.ts'
import { blockSize, DataEncoder } from './data/encode.ts'
import { isFirstDeadSession } from './dead-sessions.ts'
import { ending, errorOfFileAnswer, fault, refusalOf } from './protocol/reasons.ts'
import type { RestartPoint, WireShape } from './restart.ts'
import { floorToUnit, restartPoint, wireShape } from './restart.ts'
import { checkFile, receiptDigest, startFile } from './start-file.ts'
import type { Workspace, WorkspacePool } from './data/workspace.ts'
import { REGION_SIZE } from './data/workspace.ts'

const RECEIVED: PushResult = { receipt: 'awaited', remoteSha256: undefined }
const FIRST_SPAN = 128 * 1024
const NO_LIMIT = Number.MAX_SAFE_INTEGER

export async function pushFile(
  conversation: Conversation,
  pool: WorkspacePool,
  file: WireFile,
  progress: PushProgress,
): Promise<PushResult> {
  checkFile(file, conversation.agreed)
  const digest = receiptDigest(file, conversation.known, conversation.agreed)
  const shape = wireShape(file.format, file.envelope)
  // The hash is that of the Virtual File (5.3.13). Lengths become part of it only inside an envelope (6.1).
  if (digest) progress.receiptDigest?.(digest, shape.kind === 'variable' ? 'records' : 'octets')
  const offered = await offeredPoint(conversation, file, shape)
  const answering = offerFile(conversation, file, offered)
  const workspace = pool.borrow()
  const sending: Sending = {
    conversation,
    workspace,
    file,
    shape,
    progress,
    encoder: undefined,
    reader: undefined,
    turn: 2,
    written: [Promise.resolve(), Promise.resolve()],
    span: FIRST_SPAN,
  }
  try {
    // The first block is read while the partner decides. For a restart only the partner knows where to begin.
    if (offered.octets === 0) sending.reader = readerFrom(sending, 0)
    const agreed = await answering
    if (agreed !== 'there') await sendWhole(sending, offered, agreed)
  } finally {
    await sending.reader?.settle()
    await Promise.all(sending.written)
    pool.giveBack(workspace)
  }
  progress.safe(file.source.size)
  conversation.carried = true
  return RECEIVED
}

/** From the agreed position to the partner's verdict. */
async function sendWhole(sending: Sending, offered: RestartPoint, agreed: number): Promise<void> {
  const { conversation, file, shape, progress } = sending
  try {
    const begin =
      agreed === offered.units ? offered : await restartPoint(shape, offered.octets, agreed, reading(file))
    const encoder = await sendData(sending, begin)
    await progress.placing()
    await endFile(conversation, shape, encoder)
  } catch (error) {
    if (refusalOf(error)?.command === 'EFNA') throw error
    progress.safe(safePosition(sending))
    // In the middle of a file the protocol's only way out is to end the session.
    conversation.abort(error)
    throw error
  }
}

type Sending = {
  readonly conversation: Conversation
  readonly workspace: Workspace
  readonly file: WireFile
  readonly shape: WireShape
  readonly progress: PushProgress
  encoder: DataEncoder | undefined
  reader: BlockReader | undefined
  /** The region to fill next. */
  turn: 2 | 3
  /** The last two writes, the older one first. A region is filled again only after its write is done. */
  readonly written: [Promise<void>, Promise<void>]
  /** Octets per write. Few at first and on a slow line, where a large write would outlast the clock. */
  span: number
}

/** The last restart point that was handed to the line. */
function safePosition({ encoder, shape }: Sending): number {
  if (encoder === undefined) return 0
  return floorToUnit(shape, shape.kind === 'variable' ? encoder.recordEnd : encoder.position)
}

/** Runs are looked for where the channel wants it and there can be any: not in what is compressed or encrypted. */
function isPacked({ conversation, file: { compress, envelope } }: Sending): boolean {
  return (
    conversation.agreed.compression && compress !== false && !envelope?.compressed && !envelope?.encrypted
  )
}

function readerFrom(sending: Sending, position: number): BlockReader {
  const { conversation, workspace, file, shape } = sending
  const size = blockSize(shape, conversation.agreed.bufferSize, isPacked(sending))
  return new BlockReader(file.source, workspace, { position, blockSize: size })
}

const reading = (file: WireFile) => (into: Uint8Array, position: number) => file.source.read(into, position)

async function offeredPoint(
  conversation: Conversation,
  file: WireFile,
  shape: WireShape,
): Promise<RestartPoint> {
  const believed = conversation.agreed.restart ? Math.min(file.restartFrom, file.source.size) : 0
  return restartPoint(shape, believed, NO_LIMIT, reading(file))
}

/** Offers the file; gives the position that the partner wants it from. */
async function offerFile(
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

async function sendData(sending: Sending, begin: RestartPoint): Promise<DataEncoder> {
  const { conversation, workspace, shape } = sending
  const { bufferSize } = conversation.agreed
  const packed = isPacked(sending)
  const encoder = new DataEncoder(workspace.kernel, {
    shape,
    bufferSize,
    packed,
    position: begin.octets,
    records: shape.kind === 'stream' ? 0 : begin.units,
  })
  sending.encoder = encoder
  const reader = (sending.reader ??= readerFrom(sending, begin.octets))
  for (let leftOver = 0, last = false; !last; leftOver = encoder.leftOver) {
    const block = await reader.next(leftOver)
    last = block.last
    encoder.load(block)
    await sendBlock(sending, encoder)
  }
  return encoder
}

/** Sends what the loaded block holds: one region is filled while the other is on its way out. */
async function sendBlock(sending: Sending, encoder: DataEncoder): Promise<void> {
  const { conversation, workspace, progress, written } = sending
  while (encoder.more()) {
    await written[0]
    if (conversation.isOver) throw conversation.over
    const { start, end: limit } = workspace.regions[sending.turn]
    const room = { start, end: Math.min(limit, start + sending.span) }
    const { buffers, end } = encoder.writeBuffers(room, conversation.credit.left)
    const writing = timed(
      sending,
      conversation.sayData(workspace.kernel.memory.subarray(start, end), buffers),
    )
    written[0] = written[1]
    written[1] = writing
    sending.turn = sending.turn === 2 ? 3 : 2
    progress.moved(encoder.position)
    progress.safe(safePosition(sending))
    if (conversation.credit.left === 0) await conversation.creditGiven()
  }
}

/** Adapts the size of the next writes to the time that this one took. */
async function timed(sending: Sending, writing: Promise<void>): Promise<void> {
  const { ackMs } = sending.conversation.known.timeouts
  const began = performance.now()
  await writing
  const took = performance.now() - began
  if (took < ackMs / 32) sending.span = Math.min(sending.span * 2, REGION_SIZE)
  else if (took > ackMs / 4) sending.span = Math.max(sending.span / 2, FIRST_SPAN)
}

async function endFile(conversation: Conversation, shape: WireShape, encoder: DataEncoder): Promise<void> {
  const { records, position } = encoder
  const octets = shape.kind === 'variable' ? position - 2 * records : position
  const answer = await conversation.ask({ kind: 'EFID', records: BigInt(records), octets: BigInt(octets) })
  if (answer.kind === 'EFNA') throw errorOfFileAnswer('EFNA', answer.reason, answer.text, false)
  if (answer.kind !== 'EFPA') throw ending('internal', '99', `${answer.kind} answers EFID`)
  if (answer.changeDirection === 'Y') conversation.say({ kind: 'CD' })
}
