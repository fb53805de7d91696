// The pauses before a transfer is tried again, and before a channel's automation sends again after a failure.

const BACKOFF_FIRST_MS = 1000
const BACKOFF_MAX_MS = 300_000

/**
 * When to try again after `attempts` failures. The pause doubles, with jitter, so that calls do not come all at once.
 */
export function nextAttemptAt(now: number, attempts: number, random: () => number): number {
  const base = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.min(attempts - 1, 20))
  return now + Math.round(base * (0.5 + random() * 0.5))
}

const AUTOMATIC_FIRST_MS = 60_000
const AUTOMATIC_MAX_MS = 3_600_000

/** 1, 2, 4 … minutes, at most an hour. */
export function automaticPauseMs(failures: number): number {
  return Math.min(AUTOMATIC_MAX_MS, AUTOMATIC_FIRST_MS * 2 ** Math.min(failures - 1, 20))
}
