// Rows that are read again and again as they were: what was made of one is kept by its key, and made anew where any of its
// columns has changed. Records made so are shared by all who ask: nobody changes one in place.

export function parseOnce<Row extends object, Parsed>(
  most: number,
  keyOf: (row: Row) => string,
  parse: (row: Row) => Parsed,
): ((row: Row) => Parsed) & { known(key: string): Parsed | undefined } {
  const kept = new Map<string, { row: Row; parsed: Parsed }>()
  const parsedOf = (row: Row): Parsed => {
    const known = kept.get(keyOf(row))
    if (known && isSame(known.row, row)) return known.parsed
    if (kept.size >= most) kept.clear()
    const parsed = parse(row)
    kept.set(keyOf(row), { row, parsed })
    return parsed
  }
  return Object.assign(parsedOf, { known: (key: string) => kept.get(key)?.parsed })
}

function isSame<Row extends object>(a: Row, b: Row): boolean {
  return a === b || (Object.keys(a) as (keyof Row)[]).every((name) => a[name] === b[name])
}
