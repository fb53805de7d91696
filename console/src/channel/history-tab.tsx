// What happened to a channel, as a time line, newest first: who did it, what was changed, which transfer it is about.

import type { HistoryFacts } from '../../../sdk/index.ts'
import { Anchor, Paper, Text, Timeline } from '@mantine/core'
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
import { Link } from 'wouter'
import type { HistoryEvent } from '../../../src/contract/channel.ts'
import { useFieldWords } from '../form/field-words.ts'
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
  const { client, rights } = useSession()
  const { pollMs } = useLive()
  const filter = useUrlFilter()
  const { data, error, refetch } = useQuery({
    queryKey: ['channel', code, 'history', filter.page],
    queryFn: ({ signal }) =>
      client.platform.channelHistoryFacts({ channelCode: code, page: filter.page, size: SIZE }, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  })
  if (error && !data) return <Failed error={error} again={() => void refetch()} />
  if (!data) return <Loading />
  if (data.totalElements === 0) return <Empty title={words.channel.noHistory} />
  return (
    <Paper withBorder radius="md" p="lg">
      <Timeline active={data.content.length} bulletSize={26} lineWidth={2} aria-label={words.channel.history}>
        {data.content.map((entry, index) => {
          const { event, datetime, user, transferId, note } = entry
          const { icon: EventIcon, color } = LOOKS[event] ?? CHANGED
          return (
            <Timeline.Item
              // Positions from the end do not change as new entries come in at the front.
              key={data.totalElements - data.pageable.offset - index}
              bullet={<EventIcon size={15} aria-hidden />}
              color={color}
              title={words.historyEvent[event]}
            >
              <Text fz="xs" c="dimmed" component="div" className="inline-facts">
                <time dateTime={datetime}>{formats.dateTime(datetime)}</time>
                {user !== undefined && <span>{words.channel.historyBy(user)}</span>}
                {transferId !== undefined && rights.may('transferDetail') && (
                  <Anchor component={Link} href={`/channels/${code}/transfers/${transferId}`} fz="xs">
                    {words.transfer.open}
                  </Anchor>
                )}
              </Text>
              {note !== undefined && <Text fz="xs">{note}</Text>}
              {entry.changes && <Changes changes={entry.changes} />}
            </Timeline.Item>
          )
        })}
      </Timeline>
      <Pager page={data.number} pages={data.totalPages} go={filter.go} />
    </Paper>
  )
}

function Changes({ changes }: { changes: NonNullable<HistoryFacts['changes']> }) {
  const field = useFieldWords()
  return (
    <ul className="changes">
      {changes.map(({ field: pointer, before, after }) => (
        <li key={pointer}>
          {field.label(pointer)}
          {(before !== undefined || after !== undefined) && (
            <>
              : {said(before, (raw) => field.value(pointer, raw))} →{' '}
              {said(after, (raw) => field.value(pointer, raw))}
            </>
          )}
        </li>
      ))}
    </ul>
  )
}

function said(value: unknown, inWords: (raw: string) => string): string {
  if (value === undefined) return '—'
  if (Array.isArray(value) && value.every((one) => typeof one === 'string'))
    return value.map(inWords).join(', ') || '—'
  if (typeof value === 'object') return JSON.stringify(value)
  return inWords(String(value))
}
