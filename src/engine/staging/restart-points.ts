// How far apart the restart points of a file lie, for both directions.

import type { Directory } from '../../contract/channel.ts'
import type { TransferPlan } from '../transfer-plan.ts'

/**
 * Octets between two restart points, unless the channel sets registersBlock. After a break at most this much is sent
 * again. Each point costs a write to the database, and a sync of the data at the receiving end. Measured over OFTP2, 4 MiB
 * was as fast as 32 MiB; 1 and 2 MiB were slower (docs/engine.md).
 */
const RESTART_EVERY = 4 * 1024 * 1024

/** Octets between two restart points: registersBlock counts records where there are any, else blocks of 1 KiB. */
export function restartEvery(plan: TransferPlan, directory: Directory): number {
  const blocks = plan.channel.connection?.advancedConfigurationTransmission?.registersBlock
  if (!blocks) return RESTART_EVERY
  const octets = directory.fileFormat === 'FIJO' ? (directory.registerLength ?? 1024) : 1024
  return blocks * octets
}
