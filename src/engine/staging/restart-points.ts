// How far apart the restart points of a file lie, for both directions.

import type { Directory } from '../../contract/channel.ts'
import type { TransferPlan } from '../transfer-plan.ts'

/** A restart point is kept when so many octets have come since the last one, and so much time has passed. */
export type RestartPoints = { octets: number; pauseMs: number }

/**
 * Unless the channel sets registersBlock. Each point costs a write to the database, and a sync of the data at the receiving
 * end. Below 4 MiB that began to show (docs/engine.md). On a fast line it is a second of the file, on a slow one 4 MiB.
 */
const NOW_AND_THEN: RestartPoints = { octets: 4 * 1024 * 1024, pauseMs: 1000 }

/** registersBlock counts records where there are any, else blocks of 1 KiB. */
export function restartPoints(plan: TransferPlan, directory: Directory): RestartPoints {
  const blocks = plan.channel.connection?.advancedConfigurationTransmission?.registersBlock
  if (!blocks) return NOW_AND_THEN
  const octets = directory.fileFormat === 'FIJO' ? (directory.registerLength ?? 1024) : 1024
  return { octets: blocks * octets, pauseMs: 0 }
}
