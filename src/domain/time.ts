// Times are stored in UTC milliseconds and shown with the offset of the node's time zone. Intl is asked for the offset
// once per quarter of an hour, and the answer is kept: offsets change only at such times.

const QUARTER_MS = 900_000
export const DAY_MS = 86_400_000

export type Zone = {
  readonly name: string
  /** Milliseconds to add to UTC to get local time at that instant. */
  offsetMs(at: number): number
}

/** An IANA name. An offset (+02:00), which Intl takes too, would not follow the summer time. */
export function isZone(name: string): boolean {
  // Every node knows it, and asking costs what a short command takes.
  if (name === 'UTC') return true
  if (/^[+-]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

const zones = new Map<string, Zone>()

export function zoneOf(name: string): Zone {
  let zone = zones.get(name)
  if (!zone) zones.set(name, (zone = name === 'UTC' ? { name, offsetMs: () => 0 } : makeZone(name)))
  return zone
}

function makeZone(name: string): Zone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const known = new Map<number, number>()
  return {
    name,
    offsetMs(at) {
      const quarter = Math.floor(at / QUARTER_MS)
      let offset = known.get(quarter)
      if (offset === undefined) {
        const part = Object.fromEntries(
          format.formatToParts(quarter * QUARTER_MS).map((p) => [p.type, Number(p.value)]),
        )
        const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part
        offset = Date.UTC(year, month - 1, day, hour, minute, second) - quarter * QUARTER_MS
        if (known.size > 10_000) known.clear()
        known.set(quarter, offset)
      }
      return offset
    },
  }
}

/** `yyyy-MM-dd'T'HH:mm:ss.SSSXXX`; UTC prints Z. */
export function showTime(at: number, zone: Zone): string {
  const offset = zone.offsetMs(at)
  const local = new Date(at + offset).toISOString()
  if (offset === 0) return local
  const minutes = Math.abs(offset) / 60_000
  const sign = offset < 0 ? '-' : '+'
  return `${local.slice(0, 23)}${sign}${two(Math.floor(minutes / 60))}:${two(Math.floor(minutes % 60))}`
}

/** `dd-MM-yyyy HH:mm:ss` in the zone. */
export function showExpiry(at: number, zone: Zone): string {
  const local = new Date(at + zone.offsetMs(at)).toISOString()
  return `${local.slice(8, 10)}-${local.slice(5, 7)}-${local.slice(0, 4)} ${local.slice(11, 19)}`
}

/** The instant at which a calendar day begins in the zone; undefined where `yyyy-MM-dd` is not a real date. */
export function startOfDay(day: string, zone: Zone): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return undefined
  const utc = Date.parse(`${day}T00:00:00.000Z`)
  if (Number.isNaN(utc) || new Date(utc).toISOString().slice(0, 10) !== day) return undefined
  return fromLocal(utc, zone)
}

/** The first instant with that local time. If clocks skip it, the instant of the change. */
function fromLocal(local: number, zone: Zone): number {
  const before = local - zone.offsetMs(local - DAY_MS)
  if (before + zone.offsetMs(before) === local) return before
  const after = local - zone.offsetMs(local + DAY_MS)
  if (after + zone.offsetMs(after) === local) return after
  let at = Math.floor(after / QUARTER_MS) * QUARTER_MS
  while (at + zone.offsetMs(at) < local) at += QUARTER_MS
  return at
}

/** The day after, as `yyyy-MM-dd`. */
export function nextDay(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00.000Z`) + DAY_MS).toISOString().slice(0, 10)
}

export type Hours = {
  initialHour?: string | undefined
  finishHour?: string | undefined
  /** Which days are working days; all of them without it. */
  works?: ((day: string) => boolean) | undefined
}

/** Whether calls are made and taken at that instant. Without hours, or with two equal ones: always. */
export function isOpenAt(hours: Hours, at: number, zone: Zone): boolean {
  const from = minuteOf(hours.initialHour) ?? 0
  const to = minuteOf(hours.finishHour) ?? 24 * 60
  const local = at + zone.offsetMs(at)
  const midnight = Math.floor(local / DAY_MS) * DAY_MS
  const minute = (local - midnight) / 60_000
  const within = from <= to ? minute >= from && minute < to : minute >= from || minute < to
  if (from !== to && !within) return false
  // The hours after midnight belong to the day on which the window opened.
  return worksOn(hours, from > to && minute < to ? midnight - DAY_MS : midnight)
}

function worksOn({ works }: Hours, midnight: number): boolean {
  return works === undefined || works(new Date(midnight).toISOString().slice(0, 10))
}

/** The next instant, `at` included, at which the window is open. */
export function nextOpening(hours: Hours, at: number, zone: Zone): number {
  if (isOpenAt(hours, at, zone)) return at
  const same = hours.initialHour === hours.finishHour
  const from = same ? 0 : (minuteOf(hours.initialHour) ?? 0)
  const midnight = Math.floor((at + zone.offsetMs(at)) / DAY_MS) * DAY_MS
  for (let nth = 0; nth < FARTHEST_DAYS; nth++) {
    const local = midnight + nth * DAY_MS + from * 60_000
    // Where clocks are put back the hour may come once more.
    const opens = [fromLocal(local, zone), local - zone.offsetMs(local + DAY_MS)].find(
      (one) => one > at && isOpenAt(hours, one, zone),
    )
    if (opens !== undefined) return opens
  }
  return fromLocal(midnight + FARTHEST_DAYS * DAY_MS, zone)
}

/** A calendar that is closed for longer is looked at again then. */
const FARTHEST_DAYS = 400

function minuteOf(hour: string | undefined): number | undefined {
  return hour === undefined ? undefined : Number(hour.slice(0, 2)) * 60 + Number(hour.slice(3, 5))
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}

/** Local time as digits, for file stamps: the first 8, 14 or 17 of yyyyMMddHHmmssSSS. */
export function stamp(at: number, zone: Zone, digits: number): string {
  return new Date(at + zone.offsetMs(at))
    .toISOString()
    .replaceAll(/[^0-9]/g, '')
    .slice(0, digits)
}
