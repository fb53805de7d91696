// Both databases limit how many values one statement may bind; long lists go in batches well below that.

const BATCH = 500

export function* batches<T>(values: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < values.length; from += BATCH) yield values.slice(from, from + BATCH)
}
