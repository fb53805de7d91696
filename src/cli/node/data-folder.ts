// Whether the data folder is a node's. A command in another folder must not make a database, and keys, that nobody uses.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../../config.ts'
import { fromFileError, NodeError } from '../../errors.ts'
import { masterPath } from '../../files/secrets.ts'
import { remark } from '../print.ts'

const LOOK_MS = 100
/** A node that was started just before (`npm start &`) makes its database within this. */
const STARTING_MS = 15_000

export function hasNode({ databaseUrl, dataDir, masterKey }: Config): boolean {
  if (databaseUrl !== undefined) return masterKey !== undefined || isThere(masterPath(dataDir))
  return isThere(join(dataDir, 'esclusa.db'))
}

/** Whoever may not enter the folder is told that, and not that nothing is in it. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (thrown) {
    throw fromFileError(thrown, path)
  }
}

/** `makes`: a platform may begin with this command, in a folder that somebody has named. */
export async function requireNode(config: Config, { makes = false }: { makes?: boolean }): Promise<void> {
  if (hasNode(config)) return
  if (makes) {
    if (process.env.ESCLUSA_DATA_DIR) return
    remark(`there is no node’s data in ${config.dataDir} yet; waiting for one that is starting`)
    const until = Date.now() + STARTING_MS
    while (Date.now() < until && !hasNode(config)) await delay(LOOK_MS)
    if (hasNode(config)) return
  }
  throw new NodeError(
    'bad_use',
    `${config.dataDir} is not the data folder of a node, and nothing was made there: run the command in the node’s folder, ` +
      'or say where its data is with ESCLUSA_DATA_DIR; `esclusa serve` makes a new one',
  )
}
