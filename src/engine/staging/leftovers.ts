// Removes what crashes and earlier versions left, once at each start: wire forms of transfers that are over and will not
// be retried, half files that no partner has continued for a week, and half files at the end of partners beside us.

import { rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { takeStaleHalfFiles } from '../../store/transfers/receptions.ts'
import { livingOwners } from '../../store/transfers/signs-of-life.ts'
import { activeIds, knownPaths, stagedPathsInUse } from '../../store/transfers/staged-paths.ts'
import { clearPartnersEnds } from './partner-leftovers.ts'
import type { Transports } from './partner-leftovers.ts'
import { localPath, markedBy, removeReceived } from './staging.ts'
import type { EngineContext } from '../engine-context.ts'

const STALE_MS = 7 * 86_400_000

export async function clearLeftovers(context: EngineContext, transports: Transports): Promise<void> {
  await clearUnneeded(context)
  await clearPartnersEnds(context, transports)
  const stale = await context.store.write((tx) => takeStaleHalfFiles(tx, context.now() - STALE_MS))
  for (const path of stale) await removeReceived(path)
}

/** Wire forms of transfers that are over and that no retry can take over. */
export async function clearUnneeded(context: EngineContext): Promise<void> {
  const known = await context.staging.known()
  const needed = known.length === 0 ? new Set() : await neededIds(context)
  for (const id of known) if (!needed.has(id)) await context.staging.clear(id)
}

/**
 * Removes incoming files without a row: a crash came between file and row. To be called before this engine takes
 * anything in, and it does nothing while another engine is alive, whose files may be a moment ahead of their rows.
 */
export async function clearStrayIncoming({ staging, store, now, owner }: EngineContext): Promise<void> {
  const paths = await staging.allIncoming()
  if (paths.length === 0) return
  const living = await livingOwners(store.db, now())
  living.delete(owner)
  if (living.size > 0) return
  const known = await knownPaths(store.db)
  for (const path of paths)
    // A local form without a row is made anew from the half file beside it. If it has a row, the received bytes stay too,
    // as does the mark that says that they were put in place.
    if (![path, localPath(path), markedBy(path)].some((one) => known.has(one)))
      await rm(path, { force: true })
}

/** Folders of transfers that are not over, and of those that a retry has taken over or may take over. */
async function neededIds({ store }: EngineContext): Promise<Set<string>> {
  const staged = await stagedPathsInUse(store.db)
  return new Set([...(await activeIds(store.db)), ...staged.map((path) => basename(dirname(path)))])
}
