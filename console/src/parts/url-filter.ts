// The filters of a list are in the address. So back and forward work, and a view can be shared as a link.

import { useCallback } from 'react'
import { useLocation, useSearch } from 'wouter'

export type GoToPage = (page: number, options?: { replace?: boolean }) => void

export type UrlFilter = {
  get(name: string): string | undefined
  page: number
  /** Changing a filter goes back to the first page. */
  set(changes: Record<string, string | undefined>): void
  /** Back returns to the page before, unless this one takes its place. */
  go: GoToPage
  clear(): void
  isEmpty: boolean
}

export function useUrlFilter(): UrlFilter {
  const search = useSearch()
  const [path, navigate] = useLocation()
  const parameters = new URLSearchParams(search)
  const write = useCallback(
    (changes: Record<string, string | undefined>, replace: boolean) => {
      // As it is now: a search box writes a moment after its render, and another filter may have been set meanwhile.
      const next = new URLSearchParams(location.search)
      for (const [name, value] of Object.entries(changes))
        if (value) next.set(name, value)
        else next.delete(name)
      navigate(next.size > 0 ? `${path}?${next}` : path, { replace })
    },
    [path, navigate],
  )
  const page = Number(parameters.get('page') ?? 1)
  return {
    get: (name) => parameters.get(name) ?? undefined,
    page: Number.isInteger(page) && page > 0 ? page : 1,
    set: (changes) => write({ ...changes, page: undefined }, true),
    go: (wanted, { replace = false } = {}) =>
      write({ page: wanted > 1 ? String(wanted) : undefined }, replace),
    clear: () => navigate(path, { replace: true }),
    isEmpty: [...parameters.keys()].every((name) => name === 'page'),
  }
}

/** Only the parameters that have a value: the client sends those that are there. */
export function given<T extends object>(input: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as never
}
