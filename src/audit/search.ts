// Looks for entries. Filters that the database has an index for are its business; words are looked for here, among so
// many entries at a time: a search costs the same however long the trail is, and says where it stopped.

import { walkAudit } from '../store/audit.ts'
import type { AuditFilter, AuditRecord } from '../store/audit.ts'
import type { Db } from '../store/database/store.ts'

export type TrailFilter = AuditFilter & { search?: string | undefined }

const GROUP = 1000
const MOST_LOOKED_AT = 20_000

export type Found = { rows: AuditRecord[]; next: string | undefined; complete: boolean }

/** Newest first. */
export async function searchTrail(
  db: Db,
  filter: TrailFilter,
  asked: { beyond: string | undefined; size: number },
): Promise<Found> {
  const fits = matcher(filter.search)
  const rows: AuditRecord[] = []
  let { beyond } = asked
  for (let looked = 0; looked < MOST_LOOKED_AT;) {
    // One more than asked for tells whether there is more.
    const limit = filter.search === undefined ? asked.size + 1 : GROUP
    const some = await walkAudit(db, filter, { order: 'desc', beyond, limit })
    looked += some.length
    for (const row of some) {
      if (!fits(row)) continue
      if (rows.length === asked.size) return { rows, next: rows.at(-1)?.id, complete: true }
      rows.push(row)
    }
    if (some.length < limit) return { rows, next: undefined, complete: true }
    beyond = some.at(-1)?.id
  }
  return { rows, next: beyond, complete: false }
}

/** All of them, one after another. */
export async function* walkTrail(
  db: Db,
  filter: TrailFilter,
  order: 'asc' | 'desc',
): AsyncGenerator<AuditRecord> {
  const fits = matcher(filter.search)
  for (let beyond: string | undefined; ;) {
    const some = await walkAudit(db, filter, { order, beyond, limit: GROUP })
    for (const row of some) if (fits(row)) yield row
    if (some.length < GROUP) return
    beyond = some.at(-1)?.id
  }
}

function matcher(search: string | undefined): (row: AuditRecord) => boolean {
  const words = (search ?? '')
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  if (words.length === 0) return () => true
  return (row) => {
    const text = [row.who, row.subject, row.channelCode, row.address, row.action, row.detail]
      .filter((part) => part !== null)
      .join('\n')
      .toLowerCase()
    return words.every((word) => text.includes(word))
  }
}
