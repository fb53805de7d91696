// Calendars and expectations as people write them, in the platform file and through the operations alike.

import type { Static } from 'typebox'
import { CHANNEL_CODE_PATTERN } from './channel.ts'
import { oneOf, text } from './schema.ts'
import { TRANSFER_DIRECTIONS } from './transfer.ts'
import { Type } from './type.ts'

const optional = Type.Optional

/** What subscriptions, calendars and expectations are called by. */
export const NAME_PATTERN = '^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$'
export const name = (description: string) => Type.String({ pattern: NAME_PATTERN, description })

export const BUILT_IN_CALENDARS = ['always', 'weekdays', 'target'] as const
export type BuiltInCalendar = (typeof BUILT_IN_CALENDARS)[number]

/** What happens on a day that is no working day: nothing, or the same on the nearest one before or after it. */
export const ON_HOLIDAY = ['skip', 'previous', 'next'] as const
export type OnHoliday = (typeof ON_HOLIDAY)[number]
export const onHoliday = oneOf(
  ON_HOLIDAY,
  'What becomes of a day that is no working day: left out (skip), or moved to the working day before (previous) or after it (next).',
)

const day = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'yyyy-MM-dd' })
const days = (description: string) => Type.Array(day, { maxItems: 1000, description })

export const Calendar = Type.Object(
  {
    id: name('What it is called by.'),
    holidays: optional(
      Type.Object(
        {
          country: Type.String({ pattern: '^[A-Z]{2}$', description: 'ISO 3166 code, such as ES.' }),
          region: optional(
            Type.String({
              pattern: '^[A-Z0-9]{1,3}([.][A-Z0-9]{1,3})?$',
              description: 'Part of the country, such as MD.',
            }),
          ),
        },
        {
          additionalProperties: false,
          description:
            'Public and bank holidays of a country, and its weekend; without it Saturday and Sunday.',
        },
      ),
    ),
    closed: optional(days('Further days that are no working days.')),
    open: optional(days('Days that are working days all the same.')),
  },
  { additionalProperties: false, description: 'Which days are working days.' },
)

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
const DAY_PATTERN = `^(${WEEKDAYS.join('|')}|[1-9]|[12][0-9]|3[01]|last)$`

const hour = (pattern: string, description: string) => Type.String({ pattern, description })
const span = (description: string) => Type.String({ pattern: '^[1-9][0-9]{0,4}[smhd]$', description })
const files = Type.Integer({ minimum: 0, maximum: 1_000_000 })

export const Expectation = Type.Object(
  {
    id: name('What it is called by.'),
    channel: Type.String({ pattern: CHANNEL_CODE_PATTERN, description: 'Code of the channel.' }),
    direction: oneOf(TRANSFER_DIRECTIONS, 'Which way the files go.'),
    files: optional(text('Names that count, such as NOMINA*.txt; any without it.')),
    atLeast: optional({ ...files, default: 1, description: 'How many files are due; 1 without it.' }),
    atMost: optional({ ...files, description: 'How many there may be; any number without it.' }),
    days: optional(
      Type.Array(
        Type.Unsafe<string | number>({
          type: ['string', 'integer'],
          pattern: DAY_PATTERN,
          minimum: 1,
          maximum: 31,
        }),
        {
          minItems: 1,
          maxItems: 40,
          description: 'On which days: mon to sun, 1 to 31, or last (of the month); every day without it.',
        },
      ),
    ),
    from: optional(
      hour('^([01][0-9]|2[0-3]):[0-5][0-9]$', 'When the day’s window opens, HH:mm; midnight without it.'),
    ),
    by: hour(
      '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)([+][1-7])?$',
      'By when they are due, HH:mm; +1 for the next day, as in 02:00+1.',
    ),
    timezone: optional(Type.String({ maxLength: 64, description: 'IANA name; the node’s without it.' })),
    calendar: optional(name('Whose working days; every day without it.')),
    onHoliday: optional(onHoliday),
    warnBefore: optional(span('How long before the end to warn, such as 30m.')),
  },
  { additionalProperties: false, description: 'Files that are due on a channel.' },
)

export type Calendar = Static<typeof Calendar>
export type Expectation = Static<typeof Expectation>
