// Somebody wants a node to stop.

/**
 * Stays on: one Ctrl-C comes twice where npx, or an older Node, started this process and passes on what the terminal has
 * sent to both. The second one must not end what the first one drains, which takes ESCLUSA_DRAIN_SECONDS at the most.
 */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => resolve())
  })
}
