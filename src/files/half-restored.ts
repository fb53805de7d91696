// A restore that was interrupted after its point of no return leaves a note in the data folder. Until it has been
// carried to its end nobody may work there. One that failed before leaves no note, and what was there stays as it was.
// Where nothing was there, a node would begin an empty platform with keys of its own, and refuse every partner.

import { existsSync, readdirSync } from 'node:fs'
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
  if (existsSync(join(dataDir, RESTORING)) && readdirSync(dataDir).every((name) => name === RESTORING))
    throw new NodeError(
      'bad_use',
      `a restore into ${dataDir} did not end, and nothing else is there: run esclusa restore again, or remove ${join(dataDir, RESTORING)} to begin an empty platform`,
    )
}
