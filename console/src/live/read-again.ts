// Reads again what a change concerns. The query library alone would not do for a first read that is under way: it leaves
// it be, though that may have been answered before the change, and then what is shown would stay old.

import type { QueryClient, QueryFilters } from '@tanstack/react-query'

/** First reads that are awaited already. */
const awaited = new WeakSet<Promise<unknown>>()

export function readAgain(queries: QueryClient, concerned: QueryFilters = {}): void {
  for (const { state, promise, queryKey } of queries.getQueryCache().findAll(concerned)) {
    const first = state.fetchStatus === 'fetching' && state.data === undefined ? promise : undefined
    if (!first || awaited.has(first)) continue
    awaited.add(first)
    const then = () => queries.invalidateQueries({ queryKey, exact: true })
    // One that fails is told of on the page, with a button to try again.
    first.then(then, () => {})
  }
  void queries.invalidateQueries(concerned)
}
