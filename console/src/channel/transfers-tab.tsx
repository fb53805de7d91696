// A channel's transfers, by days.

import { Button, Paper, Stack } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useWords } from '../i18n/language.tsx'
import { useLive } from '../live/live.tsx'
import { DayFilters, daysOf } from '../parts/filter-controls.tsx'
import { Pager } from '../parts/pager.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { given, useUrlFilter } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'
import { TransferTable } from './transfer-table.tsx'

const SIZE = 20

export function TransfersTab({ code }: { code: string }) {
  const words = useWords()
  const { client } = useSession()
  const { pollMs } = useLive()
  const filter = useUrlFilter()
  const { reversed, ...days } = daysOf(filter)
  const input = { channelCode: code, ...days, page: filter.page, size: SIZE }
  const { data, error, refetch } = useQuery({
    queryKey: ['channel', code, 'transfers', input],
    queryFn: ({ signal }) => client.listTransfers(given(input), { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
    enabled: !reversed,
  })
  return (
    <Stack gap="md">
      <div className="filters">
        <DayFilters filter={filter} />
        {!filter.isEmpty && (
          <Button variant="subtle" onClick={filter.clear}>
            {words.channels.clear}
          </Button>
        )}
      </div>
      {reversed ? null : error && !data ? (
        <Failed error={error} again={() => void refetch()} />
      ) : !data ? (
        <Loading />
      ) : (
        <Paper withBorder radius="md" p={{ base: 'sm', sm: 'lg' }}>
          {data.totalElements === 0 ? (
            <Empty title={words.channel.noTransfers} help={words.channel.noTransfersHelp} />
          ) : (
            <TransferTable code={code} transfers={data.content} />
          )}
          <Pager page={data.number} pages={data.totalPages} go={filter.go} />
        </Paper>
      )}
    </Stack>
  )
}
