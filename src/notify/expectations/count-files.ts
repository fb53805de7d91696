// Counts files that came, or went, where they are expected. Called with each event once, in the transaction that gives
// it its place.

import type { EventRecord } from '../../domain/event.ts'
import { afterFile, dayOfFile } from '../../domain/expectation-day.ts'
import type { Zone } from '../../domain/time.ts'
import { matchesWildcard } from '../../domain/names/wildcard.ts'
import type { Tx } from '../../store/database/store.ts'
import { daysListening, listeners } from '../../store/expectations/expectation-days.ts'
import type { Listener } from '../../store/expectations/expectation-days.ts'
import { writeChange } from './change-days.ts'

type FileEvent = { at: number; channelCode: string; direction: 'EMISION' | 'RECEPCION'; fileName: string }

/** undefined: it is about something else. */
export function fileOf({ type, at, channelCode, data }: EventRecord): FileEvent | undefined {
  if ((type !== 'file.sent' && type !== 'file.received') || channelCode === null || !('fileName' in data))
    return undefined
  return {
    at,
    channelCode,
    direction: type === 'file.sent' ? 'EMISION' : 'RECEPCION',
    fileName: data.fileName,
  }
}

export function isMeant(day: Listener, file: FileEvent): boolean {
  return day.direction === file.direction && (day.files === null || matchesWildcard(day.files, file.fileName))
}

export async function countFiles(
  tx: Tx,
  events: readonly EventRecord[],
  zone: Zone,
  now: number,
): Promise<void> {
  const files = events.flatMap((event) => fileOf(event) ?? [])
  if (files.length === 0) return
  const codes = [...new Set(files.map(({ channelCode }) => channelCode))]
  const times = files.map(({ at }) => at)
  const from = Math.min(...times)
  const byCode = Map.groupBy(files, ({ channelCode }) => channelCode)
  const heard = (await listeners(tx, codes, { from, until: Math.max(...times) })).filter((listener) =>
    byCode.get(listener.channelCode)?.some((file) => isMeant(listener, file)),
  )
  if (heard.length === 0) return
  const days = await daysListening(tx, [...new Set(heard.map(({ expectationId }) => expectationId))], from)
  const byChannel = Map.groupBy(days, ({ channelCode }) => channelCode)
  for (const file of files) {
    const meant = (byChannel.get(file.channelCode) ?? []).filter((day) => isMeant(day, file))
    for (const some of Map.groupBy(meant, ({ expectationId }) => expectationId).values()) {
      const day = dayOfFile(some, file.at)
      if (!day) continue
      const change = afterFile(day, file.at, now)
      Object.assign(day, change.day)
      await writeChange(tx, change, zone, now)
    }
  }
}
