// Dates, numbers, sizes, rates and durations as the region writes them.

export type Formats = {
  number(value: number): string
  percent(share: number): string
  dateTime(at: string | number): string
  time(at: string | number): string
  hour(at: string | number): string
  /** Time alone on the same day, with the date otherwise, and with the year where it is not this one. */
  moment(at: string | number): string
  relative(at: string | number): string
  size(bytes: number): string
  rate(bytesPerSecond: number): string
  duration(ms: number): string
  /** The browser's time zone: its IANA name, and with its distance from UTC. */
  zoneName: string
  zone: string
}

const UNITS = ['kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

export function makeFormats(locale: string): Formats {
  const number = new Intl.NumberFormat(locale)
  const percent = new Intl.NumberFormat(locale, { style: 'percent' })
  const dateTime = new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  })
  const time = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' })
  const hour = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
  const day = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const
  const thisYear = new Intl.DateTimeFormat(locale, day)
  const otherYear = new Intl.DateTimeFormat(locale, { ...day, year: 'numeric' })
  const momentOf = (at: Date) => {
    const now = new Date()
    if (at.toDateString() === now.toDateString()) return hour.format(at)
    return (at.getFullYear() === now.getFullYear() ? thisYear : otherYear).format(at)
  }
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })
  const units = UNITS.map((unit) => ({
    whole: new Intl.NumberFormat(locale, {
      style: 'unit',
      unit,
      unitDisplay: 'short',
      maximumFractionDigits: 0,
    }),
    fine: new Intl.NumberFormat(locale, {
      style: 'unit',
      unit,
      unitDisplay: 'short',
      maximumFractionDigits: 1,
    }),
  }))
  const size = (bytes: number) => {
    if (bytes < 1000) return `${number.format(Math.round(bytes))} B`
    const step = Math.min(UNITS.length, Math.floor(Math.log10(bytes) / 3))
    const value = bytes / 1000 ** step
    const unit = units[step - 1]
    return (value >= 100 ? unit?.whole : unit?.fine)?.format(value) ?? String(bytes)
  }
  // Spanish has a space before every unit; the short form of English is "secs".
  const unitDisplay = locale.startsWith('es') ? 'short' : 'narrow'
  const part = (value: number, unit: string) =>
    new Intl.NumberFormat(locale, {
      style: 'unit',
      unit,
      unitDisplay,
      maximumFractionDigits: 1,
    }).format(value)
  const zoneName = dateTime.resolvedOptions().timeZone
  const offset = new Intl.DateTimeFormat(locale, { timeZoneName: 'shortOffset' })
    .formatToParts(new Date())
    .find(({ type }) => type === 'timeZoneName')?.value
  return {
    zoneName,
    zone: offset === undefined || offset === zoneName ? zoneName : `${zoneName} (${offset})`,
    number: (value) => number.format(value),
    percent: (share) => percent.format(share),
    dateTime: (at) => dateTime.format(new Date(at)),
    time: (at) => time.format(new Date(at)),
    hour: (at) => hour.format(new Date(at)),
    moment: (at) => momentOf(new Date(at)),
    relative: (at) => relativeTo(relative, new Date(at).getTime() - Date.now()),
    size,
    rate: (bytesPerSecond) => `${size(bytesPerSecond)}/s`,
    duration: (ms) => {
      if (ms < 100) return part(Math.round(ms), 'millisecond')
      if (ms < 9_950) return part(Math.round(ms / 100) / 10, 'second')
      const seconds = Math.round(ms / 1000)
      if (seconds < 60) return part(seconds, 'second')
      const minutes = Math.floor(seconds / 60)
      if (minutes < 60) return `${part(minutes, 'minute')} ${part(seconds % 60, 'second')}`
      return `${part(Math.floor(minutes / 60), 'hour')} ${part(minutes % 60, 'minute')}`
    },
  }
}

function relativeTo(format: Intl.RelativeTimeFormat, ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (Math.abs(seconds) < 60) return format.format(seconds, 'second')
  const minutes = Math.round(seconds / 60)
  if (Math.abs(minutes) < 60) return format.format(minutes, 'minute')
  return Math.abs(minutes) < 1440
    ? format.format(Math.round(minutes / 60), 'hour')
    : format.format(Math.round(minutes / 1440), 'day')
}
