// The whole trail as it lies in the database, checked.

import { auditPoint, chainAfter, chainBounds, openAudit } from '../store/audit.ts'
import type { AuditRecord } from '../store/audit.ts'
import type { Db } from '../store/database/store.ts'
import type { Point } from './chain.ts'
import type { AuditKeys } from './keys.ts'
import { verifyTrail } from './verify.ts'
import type { Verification } from './verify.ts'

const GROUP = 2000
const MOST_OPEN = 10_000

/**
 * Rows enter the chain and leave it meanwhile: what is checked ends at the head as it was at the beginning, and
 * nothing may lie outside of what the two signed points say by then.
 */
export async function verifyAudit(
  db: Db,
  keys: AuditKeys,
  seen: readonly Point[] = [],
): Promise<Verification> {
  for (;;) {
    const start = await auditPoint(db, 'start')
    const last = await auditPoint(db, 'last')
    const open = await openAudit(db, MOST_OPEN)
    const chain = chainOf(db, start?.seq ?? 0, last?.seq ?? 0)
    const verification = await verifyTrail({ chain, open, start, last, seen }, keys)
    const outside = await rowsOutside(db, start?.seq ?? 0)
    // Retention took rows away while they were read.
    if ((await auditPoint(db, 'start'))?.seq !== start?.seq) continue
    const findings = [...verification.findings, ...outside]
    return { ...verification, findings, whole: findings.length === 0 }
  }
}

async function rowsOutside(db: Db, start: number): Promise<string[]> {
  const bounds = await chainBounds(db)
  const last = (await auditPoint(db, 'last'))?.seq ?? 0
  if (!bounds) return []
  return [
    ...(bounds.lowest <= start ? [`an entry has place ${bounds.lowest}, before the start of the chain`] : []),
    ...(bounds.highest > last
      ? [`an entry has place ${bounds.highest}, after the last one that was signed`]
      : []),
  ]
}

/** From the place after that one to this. */
export async function* chainOf(db: Db, after: number, upTo: number): AsyncGenerator<AuditRecord> {
  let seq = after
  while (seq < upTo) {
    const rows = await chainAfter(db, seq, Math.min(GROUP, upTo - seq))
    for (const row of rows) if ((row.seq ?? 0) <= upTo) yield row
    const end = rows.at(-1)?.seq
    if (end === undefined || end === null) return
    seq = end
  }
}
