// Quarantined files that nobody decided about for so long are discarded by the node, as a person would do it; what was
// decided that long ago is forgotten.

import { BY_ITSELF } from '../audit/trail.ts'
import { forgetDecided, waitingSince } from '../store/quarantine.ts'
import { discardFile } from './decide-file.ts'
import type { Deciding } from './decide-file.ts'

export async function discardOld(deciding: Deciding, before: number): Promise<void> {
  for (const file of await waitingSince(deciding.store.db, before))
    await discardFile(deciding, BY_ITSELF, file)
  await deciding.store.write((tx) => forgetDecided(tx, before))
}
