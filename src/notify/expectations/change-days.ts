// Writes what became of days, and tells it, in one transaction.

import type { EventData } from '../../contract/event-types.ts'
import type { DayChange, DayEvent, ExpectationDay } from '../../domain/expectation-day.ts'
import { showTime } from '../../domain/time.ts'
import type { Zone } from '../../domain/time.ts'
import type { Tx } from '../../store/database/store.ts'
import { addEvents } from '../../store/events/outbox.ts'
import { updateDay } from '../../store/expectations/expectation-days.ts'

export async function writeChange(tx: Tx, { day, told }: DayChange, zone: Zone, now: number): Promise<void> {
  await updateDay(tx, day)
  await tellDay(tx, day, told, zone, now)
}

export async function tellDay(
  tx: Tx,
  day: ExpectationDay,
  told: readonly DayEvent[],
  zone: Zone,
  now: number,
): Promise<void> {
  if (told.length === 0) return
  const data = dataOf(day, zone)
  await addEvents(
    tx,
    told.map((type) => ({ type, at: now, channelCode: day.channelCode, data })),
  )
}

function dataOf(day: ExpectationDay, zone: Zone): EventData<DayEvent> {
  return {
    expectation: day.expectationId,
    day: day.day,
    direction: day.direction,
    ...(day.files !== null && { files: day.files }),
    atLeast: day.atLeast,
    ...(day.atMost !== null && { atMost: day.atMost }),
    count: day.count,
    from: showTime(day.opensAt, zone),
    by: showTime(day.closesAt, zone),
  }
}
