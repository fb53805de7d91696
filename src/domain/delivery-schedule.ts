// When a delivery that failed is tried again, and when an endpoint is given up.

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The pauses after the first, second … attempt; after the last one it is given up. */
export const PAUSES_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]
/** So that a thousand that failed together do not come back together. */
const JITTER = 0.2
/** No attempt is put further ahead. */
export const LONGEST_PAUSE_MS = 24 * HOUR * (1 + JITTER)

/** An endpoint that has answered nothing well for this long is switched off. */
export const SWITCH_OFF_MS = 72 * HOUR

/** undefined: given up. `attempts` counts this one. */
export function nextTryAt(now: number, attempts: number, random: () => number): number | undefined {
  const pause = PAUSES_MS[attempts - 1]
  return pause === undefined ? undefined : now + Math.round(pause * (1 + JITTER * random()))
}
