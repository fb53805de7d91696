// What an engine has counted since it was started, for the metrics.

export type Counters = { emitted: number; received: number; quotaRefusals: number }

export const NOTHING_COUNTED: Counters = { emitted: 0, received: 0, quotaRefusals: 0 }
