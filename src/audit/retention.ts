// Takes old entries away from the beginning of the chain. The last one that goes is signed as the chain's new start, so
// the rows that are left can still be proven; and that entries went, and how many, is an entry itself.

import { auditPoint, chainAfter, lockChain, putAuditPoint, removeChainUpTo } from '../store/audit.ts'
import type { Store } from '../store/database/store.ts'
import { pointText } from './chain.ts'
import { BY_ITSELF } from './trail.ts'
import type { AuditTrail } from './trail.ts'

const GROUP = 1000

/** How many went: all from the start on that were written before that time. */
export async function pruneAudit(
  store: Store,
  trail: AuditTrail,
  before: number,
  now: number,
): Promise<number> {
  let removed = 0
  for (;;) {
    const some = await store.write((tx) => pruneSome(tx, store, trail, before, now))
    removed += some
    if (some < GROUP) return removed
  }
}

type Tx = Parameters<Parameters<Store['write']>[0]>[0]

async function pruneSome(
  tx: Tx,
  store: Store,
  trail: AuditTrail,
  before: number,
  now: number,
): Promise<number> {
  await lockChain(tx, store.dialect)
  const start = (await auditPoint(tx, 'start'))?.seq ?? 0
  const rows = await chainAfter(tx, start, GROUP)
  const kept = rows.findIndex(({ at }) => at >= before)
  const old = kept < 0 ? rows : rows.slice(0, kept)
  const end = old.at(-1)
  if (!end) return 0
  const point = { seq: end.seq ?? 0, hash: end.hash ?? '', at: now }
  await putAuditPoint(tx, 'start', { ...point, signature: trail.keys.sign(pointText('start', point)) })
  await removeChainUpTo(tx, point.seq)
  const facts = { entries: old.length, from: start + 1, to: point.seq }
  await trail.add(tx, BY_ITSELF, [{ action: 'AUDIT_PRUNED', facts }])
  return old.length
}
