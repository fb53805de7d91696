// What must hold for calendars, subscriptions and expectations, beyond their schemas.

import { BUILT_IN_CALENDARS } from '../contract/calendar.ts'
import type { Calendar, Expectation } from '../contract/calendar.ts'
import { SUBSCRIBABLE } from '../contract/subscription.ts'
import { dayNumber, isDay } from '../domain/calendar/days.ts'
import { localTime } from '../domain/calendar/local-time.ts'
import { spanMs } from '../domain/calendar/windows.ts'
import { isBuiltIn, unknownPlace } from '../domain/calendar/working-days.ts'
import type { Fault } from '../domain/channel-rules.ts'
import { networksOf } from '../domain/network/networks.ts'
import { refusedBecause } from '../domain/network/webhook-addresses.ts'
import { matchesWildcard } from '../domain/names/wildcard.ts'
import { isZone } from '../domain/time.ts'
import type { Findings } from './protocol-rules.ts'
import { UNREAD } from './references.ts'
import type { Platform, PlatformSubscription } from '../contract/administration/platform-file.ts'

/** What the file and the database have that these may name. */
export type NoticeSurroundings = {
  calendars: ReadonlySet<string>
  /** Direction of each channel, by code. */
  channels: ReadonlyMap<string, string | undefined>
}

export function noticeFindings(platform: Platform, around: NoticeSurroundings): Findings {
  const all: Findings = { faults: [], warnings: [] }
  const add = (section: string, index: number, { faults, warnings }: Findings) => {
    const placed = (one: Fault) => ({ ...one, pointer: `/${section}/${index}${one.pointer}` })
    all.faults.push(...faults.map(placed))
    all.warnings.push(...warnings.map(placed))
  }
  for (const [index, one] of (platform.calendars ?? []).entries())
    add('calendars', index, { faults: calendarFaults(one), warnings: [] })
  for (const [index, one] of (platform.subscriptions ?? []).entries())
    add('subscriptions', index, subscriptionFindings(one))
  for (const [index, one] of (platform.expectations ?? []).entries())
    add('expectations', index, expectationFindings(one, around))
  return all
}

function calendarFaults({ id, holidays, closed = [], open = [] }: Calendar): Fault[] {
  const faults: Fault[] = []
  if (isBuiltIn(id)) faults.push({ pointer: '/id', message: `${id} is built in: give it another name` })
  const place = holidays && unknownPlace(holidays)
  if (place !== undefined) faults.push({ pointer: '/holidays', message: place })
  for (const [name, days] of Object.entries({ closed, open }))
    for (const [index, day] of days.entries()) {
      if (!isDay(day)) faults.push({ pointer: `/${name}/${index}`, message: 'is not a day that exists' })
      if (name === 'open' && closed.includes(day))
        faults.push({ pointer: `/open/${index}`, message: 'is among the closed days too' })
    }
  return faults
}

function subscriptionFindings({ webhook, mail, events }: PlatformSubscription): Findings {
  const faults: Fault[] = []
  if ((webhook === undefined) === (mail === undefined))
    faults.push({ pointer: '', message: 'must have exactly one of webhook and mail' })
  for (const [index, pattern] of events.entries())
    if (!SUBSCRIBABLE.some((type) => matchesWildcard(pattern, type)))
      faults.push({ pointer: `/events/${index}`, message: 'is no type of events, and fits none' })
  for (const [index, secret] of (webhook?.secrets ?? []).entries()) {
    const why = secret === UNREAD ? undefined : secretFault(secret)
    if (why !== undefined) faults.push({ pointer: `/webhook/secrets/${index}`, message: why })
  }
  const address = webhook && addressFindings(webhook.url)
  return { faults: [...faults, ...(address?.faults ?? [])], warnings: address?.warnings ?? [] }
}

function secretFault(secret: string): string | undefined {
  const [, kind, text = ''] = /^(whsec|whsk)_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? []
  const length = Buffer.from(text, 'base64').length
  if (kind === 'whsec' && length >= 24 && length <= 64) return undefined
  if (kind === 'whsk' && (length === 32 || length === 64)) return undefined
  return 'must be whsec_ and base64 of 24 to 64 octets, or whsk_ and base64 of an Ed25519 key'
}

const OPEN_TO_ALL = networksOf(['0.0.0.0/0', '::/0'])

function addressFindings(text: string): Findings {
  const pointer = '/webhook/url'
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url) return { faults: [{ pointer, message: 'is not an address' }], warnings: [] }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const never = refusedBecause(host, OPEN_TO_ALL)
  const faults = [
    ...(url.username || url.password ? ['must not hold a name and password: events are signed'] : []),
    ...(never === undefined ? [] : [never]),
  ]
  const clear = url.protocol === 'http:' && !/^(localhost|127\.[\d.]+|::1)$/.test(host)
  return {
    faults: faults.map((message) => ({ pointer, message })),
    warnings: clear
      ? [{ pointer, message: 'is not encrypted: events are signed, but anybody may read them' }]
      : [],
  }
}

function expectationFindings(one: Expectation, around: NoticeSurroundings): Findings {
  const faults: Fault[] = [...windowFaults(one)]
  const warnings: Fault[] = []
  const { channel, direction, calendar, timezone, atLeast = 1, atMost, onHoliday } = one
  if (!around.channels.has(channel))
    faults.push({ pointer: '/channel', message: `there is no channel ${channel}` })
  const way = around.channels.get(channel)
  if (way !== undefined && way !== 'BIDIRECCIONAL' && way !== direction)
    warnings.push({
      pointer: '/direction',
      message: `the channel’s direction is ${way}: no such file will come`,
    })
  if (calendar !== undefined) faults.push(...calendarReference('/calendar', calendar, around.calendars))
  if (timezone !== undefined && !isZone(timezone))
    faults.push({ pointer: '/timezone', message: 'must be an IANA time zone such as Europe/Madrid' })
  if (atMost !== undefined && atMost < atLeast)
    faults.push({ pointer: '/atMost', message: `must not be less than atLeast (${atLeast})` })
  if (onHoliday !== undefined && calendar === undefined)
    warnings.push({ pointer: '/onHoliday', message: 'does nothing without a calendar' })
  return { faults, warnings }
}

function windowFaults({ from = '00:00', by, warnBefore }: Expectation): Fault[] {
  const ms = (clock: string) => {
    const time = localTime('2026-01-01', clock)
    return dayNumber(time.day) * 86_400_000 + time.ms
  }
  const length = ms(by) - ms(from)
  if (length <= 0)
    return [{ pointer: '/by', message: `must be later than from (${from}); "${by}+1" is the next day` }]
  if (warnBefore !== undefined && spanMs(warnBefore) >= length)
    return [{ pointer: '/warnBefore', message: 'must be shorter than the window' }]
  return []
}

export function calendarReference(pointer: string, id: string, known: ReadonlySet<string>): Fault[] {
  if (known.has(id) || isBuiltIn(id)) return []
  return [{ pointer, message: `there is no calendar ${id}; built in are ${BUILT_IN_CALENDARS.join(', ')}` }]
}
