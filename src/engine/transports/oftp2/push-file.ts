// One file from this end to the partner: SFID, DATA as far as the credit goes, EFID, and the partner's verdict.
//
// What was handed to the line is reported as safe. That may be too much, which costs nothing: the partner answers the next
// offer with no more than it really has (RFC 5024, 5.3.4). So restart points do not depend on how often credit is given.
import type { PushProgress, PushResult, WireFile } from '../transport.ts'
import { BlockReader } from './data/block-reader.ts'
import type { Conversation } from './conversation.ts'
import { blockSize, DataEncoder } from './data/encode.ts'
import { endFile, isPacked, offerFile } from './file-commands.ts'
import { refusalOf } from './protocol/reasons.ts'
import { MOST_IN_MEMORY, pushOctets } from './push-octets.ts'
import type { RestartPoint, WireShape } from './restart.ts'
import { floorToUnit, restartPoint, wireShape } from './restart.ts'
import { checkFile, receiptDigest } from './start-file.ts'
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
  const { octets } = file.source
  if (octets && octets.length <= MOST_IN_MEMORY && file.restartFrom === 0) {
    await pushOctets({ conversation, pool, file, octets, shape }, progress)
    conversation.carried = true
    return RECEIVED
  }
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
    conversation.cut(error)
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

function readerFrom(sending: Sending, position: number): BlockReader {
  const { conversation, workspace, file, shape } = sending
  const size = blockSize(shape, conversation.agreed.bufferSize, isPacked(conversation, file))
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

async function sendData(sending: Sending, begin: RestartPoint): Promise<DataEncoder> {
  const { conversation, workspace, file, shape } = sending
  const { bufferSize } = conversation.agreed
  const packed = isPacked(conversation, file)
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
