// Files of emissions that did not arrive and that nobody goes on with: what attempts at them left at the partner's end
// can go. A file keeps its key when it is tried again, so a key that is still in use is not dead.

import { sql } from 'kysely'
import type { Db } from '../database/store.ts'

export type LeftBehind = {
  channelCode: string
  name: string
  key: { name: string; date: string; time: string }
}

type Row = { code: string; name: string; key_name: string; key_date: string; key_time: string; dead: number }

/**
 * In use: what is pending or running, failures of people's emissions that may still be retried, and the automatic
 * emission that failed last, whose files are tried again.
 */
const DEAD = sql<number>`case
  when t.state in ('PENDING', 'IN_PROGRESS') then 0
  when t.state = 'FAILED' and t.settled = 0 and t.type <> 'AUTOMATIC' then 0
  when t.state = 'FAILED' and t.settled = 0 and t.id = s.emission_error_id then 0
  else 1 end`

export async function leftBehind(db: Db, codes: readonly string[]): Promise<LeftBehind[]> {
  const found: LeftBehind[] = []
  for (const code of codes) {
    const { rows } = await sql<Row>`select t.channel_code as code, f.name, f.key_name, f.key_date, f.key_time,
        ${DEAD} as dead
      from transfer t join transfer_file f on f.transfer_id = t.id join channel_state s on s.code = t.channel_code
      where t.channel_code = ${code} and t.direction = 'EMISION' and t.state <> 'COMPLETED'
        and f.phase <> 'DONE'`.execute(db)
    const used = new Set(rows.filter(({ dead }) => dead === 0).map(textOf))
    for (const row of rows)
      if (!used.has(textOf(row)))
        found.push({
          channelCode: row.code,
          name: row.name,
          key: { name: row.key_name, date: row.key_date, time: row.key_time },
        })
  }
  return found
}

function textOf({ key_name, key_date, key_time }: Row): string {
  return JSON.stringify([key_name, key_date, key_time])
}
