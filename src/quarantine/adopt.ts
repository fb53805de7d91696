// Carries out decisions that a crash cut off, and makes rows for quarantined files that have none: those of versions
// that kept no rows, and those whose node was killed between file and row, or before the file had its name.

import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { endClaim, isClaim, isOpenedForm, quarantinedFacts } from '../files/quarantine.ts'
import { newId } from '../store/database/ids.ts'
import { insertQuarantined, quarantinedPaths, undoneDecisions } from '../store/quarantine.ts'
import { findTransfer } from '../store/transfers/transfers.ts'
import { finishDecision } from './decide-file.ts'
import type { Deciding } from './decide-file.ts'

/** Whoever decided may be at it until then. */
const GRACE_MS = 60_000

/** Decisions left half. Throws the last fault, after all were tried. */
export async function finishDecisions(deciding: Deciding): Promise<void> {
  let fault: unknown
  for (const file of await undoneDecisions(deciding.store.db, deciding.now() - GRACE_MS))
    await finishDecision(deciding, file).catch((thrown: unknown) => (fault = thrown))
  if (fault !== undefined) throw fault
}

export async function adoptStrays(deciding: Deciding, dataDir: string): Promise<void> {
  const { store, now } = deciding
  const folder = join(dataDir, 'quarantine')
  const transfers: string[] = await readdir(folder).catch(() => [])
  if (transfers.length === 0) return
  const known = await quarantinedPaths(store.db)
  for (const transferId of transfers) {
    await endClaims(deciding, join(folder, transferId), transferId)
    for (const name of await readdir(join(folder, transferId)).catch(() => [])) {
      const path = join(folder, transferId, name)
      if (isOpenedForm(name) || known.has(path)) continue
      const found = await stat(path).catch(() => undefined)
      if (!found?.isFile()) continue
      const transfer = await findTransfer(store.db, transferId)
      const facts = await quarantinedFacts(path)
      await store.write((tx) =>
        insertQuarantined(tx, {
          id: newId(now()),
          transferId,
          channelCode: transfer?.channelCode ?? '',
          name,
          ...facts,
          code: 'bad_signature',
          reason: transfer?.error ?? 'it did not pass its checks',
          quarantinedAt: Math.floor(found.mtimeMs),
        }),
      )
    }
  }
}

/** Files that were on their way into the quarantine when their node was killed. */
async function endClaims({ store, now }: Deciding, folder: string, transferId: string): Promise<void> {
  const lying = await readdir(folder).catch(() => [])
  const claims = lying.filter(isClaim)
  if (claims.length === 0) return
  const files = (await findTransfer(store.db, transferId))?.files ?? []
  const names = [...files.map(({ name }) => name), ...lying]
  for (const claim of claims) {
    const found = await stat(join(folder, claim)).catch(() => undefined)
    if (found && found.ctimeMs < now() - GRACE_MS) await endClaim(join(folder, claim), names)
  }
}
