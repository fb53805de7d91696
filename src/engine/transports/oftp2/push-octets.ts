// A small file whose octets are in memory: nothing is waited for between its data and its end, which leave together.
import type { PushProgress, WireFile } from '../transport.ts'
import type { Conversation } from './conversation.ts'
import { DataEncoder } from './data/encode.ts'
import type { Workspace, WorkspacePool } from './data/workspace.ts'
import { REGION_SIZE } from './data/workspace.ts'
import { endFile, isPacked, offerFile } from './file-commands.ts'
import { refusalOf } from './protocol/reasons.ts'
import type { WireShape } from './restart.ts'

/** Encoded, so much fits into a region, however short its records are. */
export const MOST_IN_MEMORY = REGION_SIZE / 3

const FROM_THE_BEGINNING = { units: 0, octets: 0 }

type Pushed = {
  conversation: Conversation
  pool: WorkspacePool
  file: WireFile
  octets: Uint8Array
  shape: WireShape
}

export async function pushOctets(pushed: Pushed, progress: PushProgress): Promise<void> {
  const { conversation, pool, file, shape } = pushed
  if ((await offerFile(conversation, file, FROM_THE_BEGINNING)) === 'there') return
  const workspace = pool.borrow()
  const written: Promise<void>[] = []
  try {
    await progress.placing()
    const encoder = await sayData(pushed, workspace, written)
    progress.moved(pushed.octets.length)
    await endFile(conversation, shape, encoder)
    progress.safe(pushed.octets.length)
  } catch (error) {
    if (refusalOf(error)?.command !== 'EFNA') conversation.cut(error)
    throw error
  } finally {
    // What was written stays there until the line has taken it.
    void Promise.all(written).then(() => pool.giveBack(workspace))
  }
}

async function sayData(
  { conversation, file, octets, shape }: Pushed,
  { kernel, regions }: Workspace,
  written: Promise<void>[],
): Promise<DataEncoder> {
  const [{ start: from }, , to] = regions
  const encoder = new DataEncoder(kernel, {
    shape,
    bufferSize: conversation.agreed.bufferSize,
    packed: isPacked(conversation, file),
    position: 0,
    records: 0,
  })
  kernel.memory.set(octets, from)
  encoder.load({ start: from, end: from + octets.length, last: true })
  for (let { start } = to; encoder.more();) {
    if (conversation.isOver) throw conversation.over
    const { buffers, end } = encoder.writeBuffers({ start, end: to.end }, conversation.credit.left)
    written.push(conversation.sayData(kernel.memory.subarray(start, end), buffers))
    start = end
    if (conversation.credit.left === 0) await conversation.creditGiven()
  }
  return encoder
}
