// Versions of this program: which of two is older.

/** Compares the three numbers of `1.2.3`; what stands behind them (`-beta.1`) does not count. */
export function isOlder(one: string, other: string): boolean {
  const [a, b] = [numbers(one), numbers(other)]
  for (let at = 0; at < 3; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}

function numbers(version: string): number[] {
  return (version.split('-', 1)[0] ?? '').split('.').map(Number)
}
