// What the engine writes of one outgoing file, always under the claim of its transfer.

import type { TransferFileRecord } from '../../domain/transfer.ts'
import { updateFile } from '../../store/transfers/leases.ts'
import { rememberSent } from '../../store/transfers/sent-files.ts'
import type { Tx } from '../../store/database/store.ts'
import type { TransferFileRow } from '../../store/database/tables.ts'
import { writeEach, writeHeld } from '../held-writes.ts'
import type { RunningTransfer } from '../running-transfer.ts'
import type { TransferPlan } from '../transfer-plan.ts'

/** One write under the claim, and the same change in memory once it is durable. */
export function record(
  running: RunningTransfer,
  file: TransferFileRecord,
  changes: Partial<TransferFileRecord>,
  also?: (tx: Tx) => Promise<void>,
): Promise<void> {
  return recordAll(running, [{ file, changes, also }])
}

export type FileChange = {
  file: TransferFileRecord
  changes: Partial<TransferFileRecord>
  also?: ((tx: Tx) => Promise<void>) | undefined
}

/** The same for several files: all of it or nothing. */
export async function recordAll(
  { context, held }: RunningTransfer,
  files: readonly FileChange[],
): Promise<void> {
  await writeHeld(context.store, held, (tx) =>
    writeEach(context.store.dialect, files, async ({ file, changes, also }) => {
      await updateFile(tx, held, file.index, toColumns(changes), file)
      await also?.(tx)
    }),
  )
  for (const { file, changes } of files) Object.assign(file, changes)
}

const COLUMNS = {
  phase: 'phase',
  position: 'position',
  maybeVisible: 'maybe_visible',
  hash: 'hash',
  size: 'size',
  modifiedAt: 'modified_at',
  stagedPath: 'staged_path',
  wireHash: 'wire_hash',
  receipt: 'receipt',
  actionPost: 'action_post',
  pathPost: 'path_post',
} as const satisfies Partial<Record<keyof TransferFileRecord, keyof TransferFileRow>>

function toColumns(changes: Partial<TransferFileRecord>): Partial<TransferFileRow> {
  const columns: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(changes))
    columns[COLUMNS[name as keyof typeof COLUMNS]] = typeof value === 'boolean' ? Number(value) : value
  return columns
}

type Arrival = { hash: string; wireHash: string; size: number; receipt: 'AWAITED' | 'NONE' | undefined }

/** The partner holds the file. `receipt` is left out where a row may know more of it already. */
export function arrivedChanges(
  { plan }: Pick<RunningTransfer, 'plan'>,
  { hash, wireHash, size, receipt }: Arrival,
): Partial<TransferFileRecord> {
  const done = receipt === 'NONE' && !hasAction(plan)
  return {
    phase: done ? 'DONE' : 'ARRIVED',
    position: size,
    maybeVisible: false,
    hash,
    wireHash,
    ...(receipt !== undefined && { receipt }),
    ...(done && plan.channel.integrations?.postEmisionAction && { actionPost: 'EMISION_NO' }),
  }
}

/** Whether something is to be done with a file that has arrived. */
export function hasAction(plan: TransferPlan): boolean {
  const action = plan.channel.integrations?.postEmisionAction
  return action !== undefined && action !== 'EMISION_NO'
}

/** The memory behind allowSendDuplicateFiles. */
export async function remember(
  { transfer }: RunningTransfer,
  file: TransferFileRecord,
  tx: Tx,
): Promise<void> {
  if (file.hash === null) return
  const { name, hash, size } = file
  await rememberSent(tx, { channelCode: transfer.channelCode, name, hash, size: size ?? 0 })
}
