// Reads again what a change concerns. A read that is under way may have been answered before the change: another follows
// it. It is not broken off, as the query library would do: where changes come faster than answers, none would ever be
// shown.

import type { QueryClient, QueryFilters } from '@tanstack/react-query'

/** Reads that another one follows already. */
const followed = new WeakSet<Promise<unknown>>()

export function readAgain(queries: QueryClient, concerned: QueryFilters = {}): void {
  for (const { state, promise, queryKey } of queries.getQueryCache().findAll(concerned)) {
    const underWay = state.fetchStatus === 'fetching' ? promise : undefined
    if (!underWay || followed.has(underWay)) continue
    followed.add(underWay)
    const then = () => queries.invalidateQueries({ queryKey, exact: true })
    // A first one that fails is told of on the page, with a button to try again.
    underWay.then(then, state.data === undefined ? () => {} : then)
  }
  void queries.invalidateQueries(concerned, { cancelRefetch: false })
}
