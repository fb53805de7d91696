// Removes what crashes and earlier versions left, once at each start: wire forms of transfers that are over and will not
// be retried, half files that no partner has continued for a week, and half files at the end of partners beside us. Files
// under way that no row speaks of, come in or laid out for a partner who calls, go while the node runs, too: a full disk may
// have refused the row.

import { rm, stat } from 'node:fs/promises'
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
 * Removes files under way without a row: a crash came between file and row. To be called before this engine takes
 * anything in, and it does nothing while another engine is alive, whose files may be a moment ahead of their rows.
 */
export async function clearStrays(context: EngineContext): Promise<void> {
  const paths = await context.staging.allUnderWay()
  if (paths.length > 0 && (await isAlone(context))) await removeUnknown(context, paths)
}

/** For strays of this engine's own time: nobody here has them in hand. */
const STRAY_MS = 600_000
/** Of other engines only that is known: no session brings nothing for so long. */
const STRAY_BESIDE_OTHERS_MS = 86_400_000

/** The same while the engine works: what it has in hand stays, and whatever was written of late. */
export async function sweepStrays(context: EngineContext): Promise<void> {
  const { staging } = context
  // Before rows are read: what is in hand now may get its row, and leave the hand, while they are.
  const idle = (await staging.allUnderWay()).filter((path) => !staging.isInHand(path))
  if (idle.length === 0) return
  const since = context.now() - ((await isAlone(context)) ? STRAY_MS : STRAY_BESIDE_OTHERS_MS)
  const old: string[] = []
  for (const path of idle) {
    const there = await stat(path).catch(() => undefined)
    if (there && Math.max(there.mtimeMs, there.ctimeMs) < since) old.push(path)
  }
  await removeUnknown(context, old)
}

async function isAlone({ store, now, owner }: EngineContext): Promise<boolean> {
  const living = await livingOwners(store.db, now())
  living.delete(owner)
  return living.size === 0
}

async function removeUnknown({ store, staging }: EngineContext, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return
  // Before the paths are read: a transfer that is over by now has all the rows that it will ever have.
  const active = new Set(await activeIds(store.db))
  const known = await knownPaths(store.db)
  for (const path of paths) {
    // A node that sleeps may have laid it out, and adds the row when it wakes, if nobody has claimed the transfer by then.
    if (active.has(staging.spooledFor(path) ?? '')) continue
    // A local form without a row is made anew from the half file beside it. If it has a row, the received bytes stay too,
    // as does the mark that says that they were put in place.
    if (![path, localPath(path), markedBy(path)].some((one) => known.has(one)))
      await rm(path, { force: true })
  }
}

/** Folders of transfers that are not over, and of those that a retry has taken over or may take over. */
async function neededIds({ store }: EngineContext): Promise<Set<string>> {
  const staged = await stagedPathsInUse(store.db)
  return new Set([...(await activeIds(store.db)), ...staged.map((path) => basename(dirname(path)))])
}
