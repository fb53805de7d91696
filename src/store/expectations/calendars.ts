// Calendars that the platform describes, beside the built-in ones.

import type { Calendar } from '../../contract/calendar.ts'
import { calendarsOf } from '../../domain/calendar/working-days.ts'
import type { Calendars } from '../../domain/calendar/working-days.ts'
import { hoursOf } from '../../domain/channel.ts'
import type { Hours } from '../../domain/time.ts'
import type { ChannelRecord } from '../channels.ts'
import { hot } from '../database/prepared-queries.ts'
import type { Db, Tx } from '../database/store.ts'

const all = hot<object, { definition: string }>((db) =>
  db.selectFrom('calendar').select('definition').orderBy('id'),
)

export async function listCalendars(db: Db): Promise<Calendar[]> {
  return (await all(db, {})).map(({ definition }) => JSON.parse(definition) as Calendar) // written by putCalendar
}

export async function putCalendar(tx: Tx, calendar: Calendar): Promise<void> {
  const row = { id: calendar.id, definition: JSON.stringify(calendar) }
  await tx
    .insertInto('calendar')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
}

export async function removeCalendar(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('calendar').where('id', '=', id).execute()
}

let made: { text: string; calendars: Calendars } | undefined

/** Kept while none of them changes: a country's holidays are computed once a year and calendar. */
export async function readCalendars(db: Db): Promise<Calendars> {
  const definitions = await all(db, {})
  const text = definitions.map(({ definition }) => definition).join('\n')
  if (made?.text !== text)
    made = {
      text,
      calendars: calendarsOf(definitions.map(({ definition }) => JSON.parse(definition) as Calendar)),
    }
  return made.calendars
}

/** As they were when they were last read: the engine reads them at every look of its clock. */
export function hoursOfChannel({ config, calendar }: Pick<ChannelRecord, 'config' | 'calendar'>): Hours {
  const works = calendar ? made?.calendars(calendar) : undefined
  return works ? { ...hoursOf(config), works } : hoursOf(config)
}
