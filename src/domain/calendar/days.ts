// Calendar days as text, yyyy-MM-dd. They belong to no time zone.

export type Day = string

const DAY_MS = 86_400_000

/** Days since 1970-01-01. */
export function dayNumber(day: Day): number {
  return Math.floor(Date.parse(`${day}T00:00:00.000Z`) / DAY_MS)
}

export function dayOf(number: number): Day {
  return new Date(number * DAY_MS).toISOString().slice(0, 10)
}

export function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(dayNumber(text)) && dayOf(dayNumber(text)) === text
}

export function addDays(day: Day, count: number): Day {
  return dayOf(dayNumber(day) + count)
}

/** 1 for Monday to 7 for Sunday. */
export function weekdayOf(day: Day): number {
  return ((dayNumber(day) + 3) % 7) + 1
}

export function yearOf(day: Day): number {
  return Number(day.slice(0, 4))
}

export function dayOfMonth(day: Day): number {
  return Number(day.slice(8, 10))
}

export function isLastOfMonth(day: Day): boolean {
  return addDays(day, 1).slice(8, 10) === '01'
}

/** Easter Sunday of the Gregorian calendar (Meeus, Jones and Butcher). */
export function easterOf(year: number): Day {
  const a = year % 19
  const b = Math.floor(year / 100)
  const c = year % 100
  const d = (19 * a + b - Math.floor(b / 4) - Math.floor((b - Math.floor((b + 8) / 25) + 1) / 3) + 15) % 30
  const e = (32 + 2 * (b % 4) + 2 * Math.floor(c / 4) - d - (c % 4)) % 7
  const f = d + e - 7 * Math.floor((a + 11 * d + 22 * e) / 451) + 114
  const month = Math.floor(f / 31)
  return `${year}-${String(month).padStart(2, '0')}-${String((f % 31) + 1).padStart(2, '0')}`
}
