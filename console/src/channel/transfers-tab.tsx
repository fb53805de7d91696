// A channel's transfers, by days.

import { Button, Paper, Stack, TextInput } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useWords } from '../i18n/language.tsx'
import { useLive } from '../live/live.tsx'
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
  const days = { initialDate: filter.get('from'), endDate: filter.get('to') }
  const input = { channelCode: code, ...days, page: filter.page, size: SIZE }
  const { data, error, refetch } = useQuery({
    queryKey: ['channel', code, 'transfers', input],
    queryFn: ({ signal }) => client.listTransfers(given(input), { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  })
  return (
    <Stack gap="md">
      <div className="filters">
        <TextInput
          type="date"
          label={words.channel.from}
          value={days.initialDate ?? ''}
          max={days.endDate}
          onChange={(event) => filter.set({ from: event.currentTarget.value })}
        />
        <TextInput
          type="date"
          label={words.channel.to}
          value={days.endDate ?? ''}
          min={days.initialDate}
          onChange={(event) => filter.set({ to: event.currentTarget.value })}
        />
        {!filter.isEmpty && (
          <Button variant="subtle" onClick={filter.clear}>
            {words.channels.clear}
          </Button>
        )}
      </div>
      {error && !data ? (
        <Failed error={error} again={() => void refetch()} />
      ) : !data ? (
        <Loading />
      ) : (
        <Paper withBorder radius="md" p={{ base: 'sm', sm: 'lg' }}>
          {data.empty ? (
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
