// A restore that was interrupted after its point of no return leaves a note in the data folder. Until it has been
// carried to its end nobody may work there.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { NodeError } from '../errors.ts'

export const RESTORING = 'restoring'

export function notePath(dataDir: string): string {
  return join(dataDir, RESTORING, 'note.json')
}

export function refuseHalfRestored(dataDir: string): void {
  if (existsSync(notePath(dataDir)))
    throw new NodeError(
      'bad_use',
      `a restore into ${dataDir} was interrupted: run the same esclusa restore again, it goes on where it was`,
    )
}
