// The tasks of a node, in the order in which they are looked at.

import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import { makeAuditKeys } from '../audit/keys.ts'
import { makeAuditTrail } from '../audit/trail.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import { masterPath } from '../files/secrets.ts'
import type { Seal } from '../store/seal.ts'
import { zoneOf } from '../domain/time.ts'
import { hashAccessTask } from './hash-access.ts'
import { proposedKeysTask } from './proposed-keys.ts'
import { quarantineTask } from './quarantine.ts'
import { resealTask } from './reseal.ts'
import { retentionTask } from './retention.ts'
import { uploadsTask } from './uploads.ts'
import { startUpkeep } from './upkeep.ts'
import type { Upkeep } from './upkeep.ts'

export type NodeUpkeep = Upkeep & { config: Config; seal: Seal; master: KeyRing }

export function startNodeUpkeep(upkeep: NodeUpkeep): { stop(): Promise<void> } {
  const { config, master } = upkeep
  return startUpkeep(upkeep, [
    resealTask({
      ...upkeep,
      auditKeys: makeAuditKeys(master),
      keyFile: config.masterKey === undefined ? masterPath(config.dataDir) : undefined,
    }),
    hashAccessTask(upkeep),
    proposedKeysTask(upkeep),
    quarantineTask({
      store: upkeep.store,
      audit: makeAuditTrail(master, upkeep.owner, upkeep.now),
      roots: { fileRoots: config.fileRoots, scriptRoots: config.scriptRoots },
      zone: zoneOf(config.timezone),
      dataDir: resolve(config.dataDir),
      keepDays: config.keepQuarantineDays,
      now: upkeep.now,
    }),
    uploadsTask({ store: upkeep.store, fileRoots: config.fileRoots, now: upkeep.now }),
    retentionTask(upkeep),
  ])
}
