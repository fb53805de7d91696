// Which transfers have met a session that was dead when their file was offered. The first time says nothing of the file: a
// session that is kept open may have died since its last one. The second time it may be this very file that ends it, while
// others keep getting theirs through, and it counts as an attempt, of which there are so many and no more.
//
// In memory and bounded: a transfer that is forgotten, or goes to another node, is let off once more.

const MOST = 10_000

const met = new Set<string>()

/** Whether it is the transfer's first. */
export function isFirstDeadSession(transferId: string): boolean {
  if (met.has(transferId)) return false
  met.add(transferId)
  const [oldest] = met
  if (met.size > MOST && oldest !== undefined) met.delete(oldest)
  return true
}
