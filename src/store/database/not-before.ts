import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'

/** Longer than a write waits for its turn, or the clocks of two nodes differ. */
const MOST_MS = 60_000

/**
 * `now`, or the time of what came before where that is a little later. A writer reads its clock and then waits for its
 * turn; what others wrote meanwhile has a later time, though it is earlier in the list. After a clock was set back by
 * more, its times stand as they are.
 */
export function notBefore(now: number, before: RawBuilder<number>): RawBuilder<number> {
  return sql`coalesce((select earlier.at from (select ${before} as at) as earlier
    where earlier.at > ${now} and earlier.at <= ${now + MOST_MS}), ${now})`
}
