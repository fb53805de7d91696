// Quarantined files: decisions that a crash cut off are carried out, files without a row get one, old ones go.

import type { AuditTrail } from '../audit/trail.ts'
import type { Roots } from '../domain/channel-rules.ts'
import type { Zone } from '../domain/time.ts'
import { adoptStrays, finishDecisions } from '../quarantine/adopt.ts'
import { discardOld } from '../quarantine/age.ts'
import type { Store } from '../store/database/store.ts'
import type { Task } from './upkeep.ts'

type Parts = {
  store: Store
  audit: AuditTrail
  roots: Roots
  zone: Zone
  dataDir: string
  keepDays: number
  now: () => number
}

export function quarantineTask(parts: Parts): Task {
  return {
    name: 'quarantine',
    everyMs: 30_000,
    run: async () => {
      await adoptStrays(parts, parts.dataDir)
      await finishDecisions(parts)
      await discardOld(parts, parts.now() - parts.keepDays * 86_400_000)
    },
  }
}
