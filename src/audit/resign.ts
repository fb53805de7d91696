// The two signed points of the chain, signed anew when the master key was exchanged: the older key goes, and what it
// signed could not be proven any more.

import { auditPoint, lockChain, putAuditPoint } from '../store/audit.ts'
import type { Store } from '../store/database/store.ts'
import { pointText } from './chain.ts'
import type { AuditKeys } from './keys.ts'

/** A point that nobody of this platform signed stays as it is: that is for `verify` to find. */
export async function resignPoints(store: Store, keys: AuditKeys): Promise<void> {
  await store.write(async (tx) => {
    await lockChain(tx, store.dialect)
    for (const name of ['start', 'last'] as const) {
      const point = await auditPoint(tx, name)
      if (!point) continue
      const text = pointText(name, point)
      if (keys.isSignedNow(text, point.signature) || !keys.isSigned(text, point.signature)) continue
      await putAuditPoint(tx, name, { ...point, signature: keys.sign(text) })
    }
  })
}
