// What happened to a channel, as a time line, newest first.

import { Paper, Text, Timeline } from '@mantine/core'
import {
  IconAlertTriangle,
  IconArrowsExchange,
  IconBan,
  IconCheck,
  IconKey,
  IconPencil,
  IconPlayerPlay,
  IconPlayerSkipBack,
  IconPlus,
  IconRefresh,
  IconShieldX,
} from '@tabler/icons-react'
import type { Icon } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { HistoryEvent } from '../../../src/contract/channel.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useLive } from '../live/live.tsx'
import { Pager } from '../parts/pager.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { useUrlFilter } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'

const SIZE = 30

const LOOKS: Partial<Record<HistoryEvent, { icon: Icon; color: string }>> = {
  CHANNEL_CREATED: { icon: IconPlus, color: 'gray.7' },
  CHANNEL_RESET: { icon: IconPlayerSkipBack, color: 'gray.7' },
  TRANSFER_REQUESTED: { icon: IconArrowsExchange, color: 'gray.7' },
  TRANSFER_RETRIED: { icon: IconRefresh, color: 'gray.7' },
  TRANSFER_STARTED: { icon: IconPlayerPlay, color: 'lock' },
  TRANSFER_COMPLETED: { icon: IconCheck, color: 'teal.8' },
  TRANSFER_FAILED: { icon: IconAlertTriangle, color: 'red.8' },
  TRANSFER_CANCELLED: { icon: IconBan, color: 'gray.7' },
  CONNECTION_REFUSED: { icon: IconShieldX, color: 'red.8' },
  KEY_RECEIVED: { icon: IconKey, color: 'grape.8' },
}
const CHANGED = { icon: IconPencil, color: 'gray.7' }

export function HistoryTab({ code }: { code: string }) {
  const words = useWords()
  const formats = useFormats()
  const { client } = useSession()
  const { pollMs } = useLive()
  const filter = useUrlFilter()
  const { data, error, refetch } = useQuery({
    queryKey: ['channel', code, 'history', filter.page],
    queryFn: ({ signal }) =>
      client.channelHistory({ channelCode: code, page: filter.page, size: SIZE }, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  })
  if (error && !data) return <Failed error={error} again={() => void refetch()} />
  if (!data) return <Loading />
  if (data.empty) return <Empty title={words.channel.noHistory} />
  return (
    <Paper withBorder radius="md" p="lg">
      <Timeline active={data.content.length} bulletSize={26} lineWidth={2} aria-label={words.channel.history}>
        {data.content.map(({ event, datetime }, index) => {
          const { icon: EventIcon, color } = (event && LOOKS[event]) ?? CHANGED
          return (
            <Timeline.Item
              // Positions from the end do not change as new entries come in at the front.
              key={data.totalElements - data.pageable.offset - index}
              bullet={<EventIcon size={15} aria-hidden />}
              color={color}
              title={event ? words.historyEvent[event] : ''}
            >
              {datetime && (
                <Text
                  component="time"
                  dateTime={datetime}
                  fz="xs"
                  c="dimmed"
                  title={formats.dateTime(datetime)}
                >
                  {formats.dateTime(datetime)}
                </Text>
              )}
            </Timeline.Item>
          )
        })}
      </Timeline>
      <Pager page={data.number} pages={data.totalPages} go={filter.go} />
    </Paper>
  )
}
