// Both databases limit how many values one statement may bind. Long lists are split into batches well below the limit.

const BATCH = 500

export function* batches<T>(values: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < values.length; from += BATCH) yield values.slice(from, from + BATCH)
}
