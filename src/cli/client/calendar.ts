// `esclusa calendar`: what calendars, expectations and cron expressions mean in a year.

import { ClientError } from '../../../sdk/index.ts'
import type { PlatformClient } from '../../../sdk/index.ts'
import { NodeError } from '../../errors.ts'
import { remark, say, sayJson, sayTable, when } from '../print.ts'
import { withNode } from './connect.ts'
import type { ClientFlags } from './connect.ts'

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

function weekday(day: string): string {
  return WEEKDAYS[new Date(`${day}T00:00:00Z`).getUTCDay()] ?? ''
}

export async function listCalendars(options: ClientFlags): Promise<void> {
  await withNode(options, async ({ platform }) => {
    const answer = await platform.listCalendars()
    if (options.json) return sayJson(answer)
    const own = answer.calendars.map(({ id, holidays, closed, open }) => ({
      ID: id,
      HOLIDAYS: [holidays?.country, holidays?.region].filter(Boolean).join(' ') || 'weekends alone',
      CLOSED: closed?.length,
      OPEN: open?.length,
    }))
    sayTable([...answer.builtIn.map((ID) => ({ ID, HOLIDAYS: 'built in' })), ...own], 'there is no calendar')
  })
}

/** A calendar, else an expectation, else a channel of that name. */
export async function showYear(id: string, options: ClientFlags & { year?: number }): Promise<void> {
  const year = options.year === undefined ? {} : { year: options.year }
  await withNode(options, async ({ platform }) => {
    const tries = [
      () => showCalendar(platform, id, year, options),
      () => showExpectation(platform, id, year, options),
      ...(/^[^-]+-[^-]+-[^-]+$/.test(id) ? [() => showChannel(platform, id, year, options)] : []),
    ]
    for (const show of tries) if (await found(show)) return
    throw new NodeError(
      'not_found',
      `there is no calendar or expectation ${id}, and no channel of that code with a cron`,
    )
  })
}

type Year = { year?: number }

async function found(show: () => Promise<void>): Promise<boolean> {
  try {
    await show()
    return true
  } catch (thrown) {
    if (thrown instanceof ClientError && thrown.status === 404) return false
    throw thrown
  }
}

async function showCalendar(platform: PlatformClient, calendarId: string, year: Year, flags: ClientFlags) {
  const answer = await platform.calendarYear({ calendarId, ...year })
  if (flags.json) return sayJson(answer)
  const rows = [
    ...answer.closed.map((day) => ({ DAY: day, WEEKDAY: weekday(day), IS: 'closed' })),
    ...answer.open.map((day) => ({ DAY: day, WEEKDAY: weekday(day), IS: 'open' })),
  ].sort((a, b) => (a.DAY < b.DAY ? -1 : 1))
  sayTable(rows, 'every Monday to Friday is a working day, and no other day')
  remark(
    `${answer.id} has ${answer.workingDays} working days in ${answer.year}; usual weekdays and weekends are left out`,
  )
}

async function showExpectation(
  platform: PlatformClient,
  expectationId: string,
  year: Year,
  flags: ClientFlags,
) {
  const answer = await platform.expectationYear({ expectationId, ...year })
  if (flags.json) return sayJson(answer)
  const rows = answer.windows.map(({ day, from, warnAt, by }) => ({
    DAY: day,
    WEEKDAY: weekday(day),
    FROM: when(from),
    WARNS: when(warnAt),
    BY: when(by),
  }))
  sayTable(rows, `${expectationId} is due on no day of ${answer.year}`)
}

async function showChannel(platform: PlatformClient, channelCode: string, year: Year, flags: ClientFlags) {
  const answer = await platform.cronYear({ channelCode, ...year })
  if (flags.json) return sayJson(answer)
  for (const time of answer.times) say(when(time) ?? '')
  if (!answer.complete) remark(`the first ${answer.times.length} turns of ${answer.year}; there are more`)
}
