// What crashes leave behind in the data folder: wire forms of transfers that are over and will not be retried, half
// files that no partner has gone on with for a week. Looked for once at each start.

import { rm } from 'node:fs/promises'
import { takeStalePartials } from '../store/receptions.ts'
import type { Work } from './work.ts'

const STALE_MS = 7 * 86_400_000

export async function clearLeftovers(work: Work): Promise<void> {
  for (const id of await work.staging.known()) if (!(await isNeeded(work, id))) await work.staging.clear(id)
  const stale = await work.store.write((tx) => takeStalePartials(tx, work.now() - STALE_MS))
  for (const path of stale) await rm(path, { force: true })
}

/** By the transfer itself, or by a retry that took its staged files over. */
async function isNeeded(work: Work, transferId: string): Promise<boolean> {
  const row = await work.store.db
    .selectFrom('transfer_file')
    .innerJoin('transfer', 'transfer.id', 'transfer_file.transfer_id')
    .select('transfer.id')
    .where('transfer_file.staged_path', 'like', `%/${transferId}/%`)
    .where((eb) =>
      eb.or([
        eb('transfer.state', 'in', ['PENDING', 'IN_PROGRESS']),
        eb.and([eb('transfer.state', '=', 'FAILED'), eb('transfer.settled', '=', 0)]),
      ]),
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
