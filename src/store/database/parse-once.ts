// Rows that are read again and again as they were: what was made of one is kept by its key, and made anew where any of its
// columns has changed. Records made so are shared by all who ask: nobody changes one in place.

import { newest } from '../../domain/newest.ts'

export function parseOnce<Row extends object, Parsed>(
  most: number,
  keyOf: (row: Row) => string,
  parse: (row: Row) => Parsed,
): ((row: Row) => Parsed) & { known(key: string): Parsed | undefined } {
  const kept = newest<{ row: Row; parsed: Parsed }>(most)
  const parsedOf = (row: Row): Parsed => {
    const known = kept.get(keyOf(row))
    if (known && isSame(known.row, row)) return known.parsed
    const parsed = parse(row)
    kept.set(keyOf(row), { row, parsed })
    return parsed
  }
  return Object.assign(parsedOf, { known: (key: string) => kept.get(key)?.parsed })
}

function isSame<Row extends object>(a: Row, b: Row): boolean {
  return a === b || (Object.keys(a) as (keyof Row)[]).every((name) => a[name] === b[name])
}
