// Seals everything anew with the current master key, for as long as there is an older one; then the older one is put
// away. A value that was sealed with the old key by a node that had not heard yet is found by the last walk, a day later.

import type { KeyRing } from '../domain/key-ring.ts'
import { keepOld, oldKeys } from '../files/key-file.ts'
import type { Log } from '../log.ts'
import { RESEAL_START, resealSome } from '../store/sealed-values.ts'
import type { ResealWalk } from '../store/sealed-values.ts'
import type { Seal } from '../store/seal.ts'
import type { Store } from '../store/database/store.ts'
import { resignPoints } from '../audit/resign.ts'
import type { AuditKeys } from '../audit/keys.ts'
import type { Pieces, Task } from './upkeep.ts'

/** How long an old key is kept after the exchange. */
export const KEPT_MS = 86_400_000
const ROWS_AT_ONCE = 20

export type ResealParts = {
  store: Store
  seal: Seal
  master: KeyRing
  auditKeys: AuditKeys
  /** Where the key is kept; undefined: it is given by the settings. */
  keyFile: string | undefined
  log: Log
  now: () => number
}

export function resealTask(parts: ResealParts): Task {
  const { master, keyFile, log, now } = parts
  return {
    name: 'reseal',
    everyMs: 3_600_000,
    run: async (pieces) => {
      if (master.older().length === 0) return
      const renewed = await resealAll(parts, pieces)
      log.info({ renewed }, 'secrets are sealed with the current master key')
      if (keyFile === undefined) {
        log.info(
          'nothing is sealed with ESCLUSA_MASTER_KEY_OLD any more: it can be taken out of the settings',
        )
        return
      }
      const old = oldKeys(keyFile)
      const kept = old.filter(({ since }) => since > now() - KEPT_MS)
      if (kept.length < old.length) keepOld(keyFile, kept)
    },
  }
}

/** How many rows were sealed anew. */
export async function resealAll(
  { store, seal, auditKeys }: Pick<ResealParts, 'store' | 'seal' | 'auditKeys'>,
  pieces: Pieces,
): Promise<number> {
  await resignPoints(store, auditKeys)
  let walk: ResealWalk = RESEAL_START
  await pieces(async () => {
    const next = await resealSome(store, seal, walk, ROWS_AT_ONCE)
    walk = next ?? walk
    return next !== undefined
  })
  return walk.renewed
}
