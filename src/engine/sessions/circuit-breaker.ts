// The circuit breaker. After a few failed calls in a row a partner counts as down. From then on it gets one probe at a
// time, at growing intervals. So a dead partner with a thousand channels costs one call, not a thousand.

import {
  clearHealth,
  FAILURES_TO_BE_DOWN,
  findHealth,
  putHealth,
  takeProbe,
} from '../../store/partner-health.ts'
import type { EngineContext } from '../engine-context.ts'

const FIRST_PAUSE_MS = 10_000
export const MAX_PAUSE_MS = 600_000
/** How long a probe may take before another is allowed. */
const PROBE_MS = 60_000

/** 0: it may be called now. Otherwise the time before which it must not be called. */
export async function callNotBefore(context: EngineContext, contactId: string): Promise<number> {
  const health = await findHealth(context.store.db, contactId)
  if (!health || health.failures < FAILURES_TO_BE_DOWN) return 0
  const now = context.now()
  // What lies further ahead than it was put is of a clock that was set back since.
  const longest = Math.max(PROBE_MS, pauseMs(health.failures))
  if (now < health.openUntil && health.openUntil <= now + longest) return health.openUntil
  const until = now + PROBE_MS
  return (await context.store.write((tx) => takeProbe(tx, health, until, context.owner))) ? 0 : until
}

export async function callFailed(context: EngineContext, contactId: string, error: string): Promise<void> {
  const before = await findHealth(context.store.db, contactId)
  const failures = (before?.failures ?? 0) + 1
  const now = context.now()
  const openUntil = failures < FAILURES_TO_BE_DOWN ? 0 : now + pauseMs(failures)
  await context.store.write((tx) => putHealth(tx, { contactId, failures, openUntil, error }, now))
  if (failures === FAILURES_TO_BE_DOWN)
    context.log.warn({ contact: contactId, error }, 'the partner cannot be reached: it is probed from now on')
}

function pauseMs(failures: number): number {
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, failures - FAILURES_TO_BE_DOWN))
}

export async function callSucceeded(context: EngineContext, contactId: string): Promise<void> {
  if (!(await findHealth(context.store.db, contactId))) return
  await context.store.write((tx) => clearHealth(tx, contactId, context.now()))
}
