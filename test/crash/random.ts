// Repeatable chance: a run prints its seed, and the same seed makes the same files and the same moments.

export type Random = {
  /** From 0 up to but not including 1. */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  pick<T>(values: readonly T[]): T
  bytes(size: number): Buffer
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  // The mixing steps of mulberry32, a small generator in the public domain.
  const next32 = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const next = () => next32() / 2 ** 32
  return {
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    pick: (values) => {
      const picked = values[Math.floor(next() * values.length)]
      if (picked === undefined) throw new Error('nothing to pick from')
      return picked
    },
    bytes: (size) => fill(size, next32),
  }
}

/** A block that repeats with its number written in: every 4 KiB differs, and big files cost little to make. */
function fill(size: number, next32: () => number): Buffer {
  const block = Buffer.alloc(4096)
  for (let at = 0; at < block.length; at += 4) block.writeUInt32LE(next32(), at)
  const whole = Buffer.alloc(size)
  for (let at = 0, number = 0; at < size; at += block.length, number++) {
    block.writeUInt32LE(number, 0)
    block.copy(whole, at)
  }
  return whole
}
