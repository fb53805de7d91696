// The pause before a transfer is tried again.

const BACKOFF_FIRST_MS = 1000
const BACKOFF_MAX_MS = 300_000

/**
 * When to try again after `attempts` failures. The pause doubles, with jitter, so that calls do not come all at once.
 */
export function nextAttemptAt(now: number, attempts: number, random: () => number): number {
  const base = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.min(attempts - 1, 20))
  return now + Math.round(base * (0.5 + random() * 0.5))
}
