// A page of things that wait for somebody's decision, and of those that were decided: chosen by their state, paged.

import { Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useFormats } from '../i18n/language.tsx'
import { useLive } from '../live/live.tsx'
import { among, FilterSelect, labelled } from './filter-controls.tsx'
import { PageTitle } from './page-title.tsx'
import { PagedList } from './paged-list.tsx'
import type { Paged } from './paged-list.tsx'
import { Empty } from './states.tsx'
import { useUrlFilter } from './url-filter.ts'

const SIZE = 25

type Words<State extends string> = {
  title: string
  help: string
  state: string
  all: string
  states: Record<State, string>
  found: (count: string) => string
  none: string
  noneHelp: string
}

type DecisionPageProps<State extends string, One> = {
  /** Of its answers among the platform's. */
  name: string
  words: Words<State>
  states: readonly State[]
  list: (
    input: { state: State | undefined; page: number; size: number },
    options: { signal: AbortSignal },
  ) => Promise<Paged<One>>
  /** One of them, as an item of the list. */
  children: (one: One) => ReactNode
}

export function DecisionPage<State extends string, One>({
  name,
  words,
  states,
  list,
  children,
}: DecisionPageProps<State, One>) {
  const formats = useFormats()
  const { pollMs } = useLive()
  const filter = useUrlFilter()
  const state = among(states, filter.get('state'))
  const input = { state, page: filter.page, size: SIZE }
  const query = useQuery({
    queryKey: ['platform', name, input],
    queryFn: ({ signal }) => list(input, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  })
  return (
    <Stack gap="lg">
      <PageTitle text={words.title} />
      <Text fz="sm">{words.help}</Text>
      <div className="filters">
        <FilterSelect
          filter={filter}
          name="state"
          label={words.state}
          value={state}
          all={words.all}
          choices={labelled(states, words.states)}
        />
      </div>
      <PagedList
        query={query}
        found={(total) => words.found(formats.number(total))}
        empty={<Empty title={words.none} help={words.noneHelp} />}
        go={filter.go}
      >
        {(items) => <ul className="plain-list">{items.map(children)}</ul>}
      </PagedList>
    </Stack>
  )
}
