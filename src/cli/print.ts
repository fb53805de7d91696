// What commands print: tables for people and JSON for programs on standard output, remarks on standard error.

export function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function remark(text: string): void {
  process.stderr.write(`${text}\n`)
}

export function sayJson(value: unknown): void {
  say(JSON.stringify(value, undefined, 2))
}

type Cell = string | number | boolean | undefined

/** Columns by name, each as wide as its widest cell. Columns without a value are left out. */
export function sayTable(rows: readonly Record<string, Cell>[], whenEmpty: string): void {
  if (rows.length === 0) return remark(whenEmpty)
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) =>
    rows.some((row) => row[name] !== undefined),
  )
  const lines = [names, ...rows.map((row) => names.map((name) => clean(String(row[name] ?? ''))))]
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  for (const line of lines)
    say(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

/** A list's page, or how to see the rest of it. */
export function remarkPage(page: { number: number; totalPages: number; totalElements: number }): void {
  if (page.totalPages > 1)
    remark(
      `page ${page.number} of ${page.totalPages}, ${page.totalElements} in all (--page N, --size N, --all)`,
    )
}

/** Names come from partners. Characters that could move the terminal's cursor are shown as question marks. */
export function clean(text: string): string {
  return text.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '?')
}

/** `2026-03-05T10:22:33.123+01:00` as `2026-03-05 10:22:33 +01:00`. */
export function when(time: string | undefined): string | undefined {
  return time?.replace(/^(.{10})T(.{8})(?:\.\d+)?(.*)$/, '$1 $2 $3')
}

export function bytes(text: string | number | undefined): string | undefined {
  if (text === undefined) return undefined
  let size = Number(text)
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let unit = 0
  for (; size >= 1000 && unit < units.length - 1; unit++) size /= 1000
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`
}
