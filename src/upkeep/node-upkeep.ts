// The tasks of a node, in the order in which they are looked at.

import type { Config } from '../config.ts'
import { makeAuditKeys } from '../audit/keys.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import { masterPath } from '../files/secrets.ts'
import type { Seal } from '../store/seal.ts'
import { hashAccessTask } from './hash-access.ts'
import { resealTask } from './reseal.ts'
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
  ])
}
