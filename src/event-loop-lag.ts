// How late a thread gets to its work: the delay of its event loop, measured by a timer of Node's own.

import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION_MS = 20

/** In seconds. */
export type Lag = { p50: number; p90: number; p99: number; max: number }

export const NO_LAG: Lag = { p50: 0, p90: 0, p99: 0, max: 0 }

export type LagMeter = {
  /** Since the last reading. */
  read(): Lag
  stop(): void
}

export function measureLag(): LagMeter {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  // The timer counts its own interval in.
  const late = (nanos: number) =>
    Number.isFinite(nanos) ? Math.max(0, nanos / 1e9 - RESOLUTION_MS / 1000) : 0
  return {
    read: () => {
      const [p50, p90, p99] = [50, 90, 99].map((percent) => late(delay.percentile(percent)))
      const lag = { p50: p50 ?? 0, p90: p90 ?? 0, p99: p99 ?? 0, max: late(delay.max) }
      delay.reset()
      return lag
    },
    stop: () => void delay.disable(),
  }
}

/** Of two readings in a row: for each figure the worse one. */
export function worse(one: Lag, other: Lag): Lag {
  const most = (key: keyof Lag) => Math.max(one[key], other[key])
  return { p50: most('p50'), p90: most('p90'), p99: most('p99'), max: most('max') }
}
