// How far apart the restart points of a file lie, for both directions.

import type { Directory } from '../../contract/channel.ts'
import type { TransferPlan } from '../transfer-plan.ts'

/**
 * Restart points are kept about this often unless the channel says otherwise by registersBlock: a break costs at most so
 * much again. Each costs a write to the database, and a sync of the data at the receiving end; down to 4 MiB that could
 * not be told from 32 MiB in the time of a file over OFTP2, at 1 and 2 MiB it could (docs/engine.md).
 */
const RESTART_EVERY = 4 * 1024 * 1024

/** Octets between two restart points: registersBlock counts records where there are any, else blocks of 1 KiB. */
export function restartEvery(plan: TransferPlan, directory: Directory): number {
  const blocks = plan.channel.connection?.advancedConfigurationTransmission?.registersBlock
  if (!blocks) return RESTART_EVERY
  const octets = directory.fileFormat === 'FIJO' ? (directory.registerLength ?? 1024) : 1024
  return blocks * octets
}
