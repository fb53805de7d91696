// Files that are here already and still lie at the partner's, because it does not let them be removed, or because they were
// refused here. Before such a file may be removed it is read again and compared, since another may have come under its name;
// that is not done at every look. The pauses double: whatever comes under that name is seen to in the end.
//
// In memory alone: after a restart each of them is read once.

import { newest } from '../../domain/newest.ts'

const MOST = 100_000
const FIRST_PAUSE_MS = 60_000
const MAX_PAUSE_MS = 24 * 3_600_000

type Left = { reason: unknown; times: number; until: number }

export class FilesLeft {
  readonly #left = newest<Left>(MOST)

  stays(file: string, reason: unknown, now: number): void {
    const times = (this.#left.get(file)?.times ?? 0) + 1
    const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (times - 1))
    this.#left.set(file, { reason, times, until: now + pause })
  }

  /** Why it was left, as long as it is not read again. */
  reasonOf(file: string, now: number): unknown {
    const left = this.#left.get(file)
    return left && left.until > now ? left.reason : undefined
  }

  gone(file: string): void {
    this.#left.delete(file)
  }
}
