// A list that the node pages: loading, failed, empty, or its items with their number and the pager.

import { Paper, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Pager } from './pager.tsx'
import type { GoToPage } from './url-filter.ts'
import { Failed, Loading } from './states.tsx'

export type Paged<T> = {
  content: T[]
  empty: boolean
  number: number
  totalPages: number
  totalElements: number
}

type PagedListProps<T> = {
  query: { data: Paged<T> | undefined; error: Error | null; refetch: () => unknown }
  /** How many there are, in words. */
  found: (total: number) => string
  /** Shown if there are none. */
  empty: ReactNode
  go: GoToPage
  children: (items: T[]) => ReactNode
}

export function PagedList<T>({
  query: { data, error, refetch },
  found,
  empty,
  go,
  children,
}: PagedListProps<T>) {
  if (!data) return error ? <Failed error={error} again={() => void refetch()} /> : <Loading />
  return (
    <Paper withBorder radius="md" p={{ base: 'sm', sm: 'lg' }}>
      <Text fz="sm" c="dimmed" mb="sm" role="status">
        {found(data.totalElements)}
      </Text>
      {data.totalElements === 0 ? empty : children(data.content)}
      <Pager page={data.number} pages={data.totalPages} go={go} />
    </Paper>
  )
}
