// All channels the user may reach: searched, filtered and paged by the node.

import type { ChannelSummary } from '../../../sdk/index.ts'
import { Anchor, Button, Stack, Table, Text, TextInput } from '@mantine/core'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { CHANNEL_STATUSES, DIRECTIONS } from '../../../src/contract/channel.ts'
import type { ChannelStatusValue, Direction as Way } from '../../../src/contract/channel.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useLive } from '../live/live.tsx'
import { Direction } from '../parts/direction.tsx'
import { among, FilterSelect, labelled } from '../parts/filter-controls.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { PagedList } from '../parts/paged-list.tsx'
import { useSearchBox } from '../parts/search-box.ts'
import { Empty } from '../parts/states.tsx'
import { ChannelBadge } from '../parts/status-badge.tsx'
import { given, useUrlFilter } from '../parts/url-filter.ts'
import type { UrlFilter } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'

const SIZE = 25

export default function ChannelsPage() {
  const words = useWords()
  const formats = useFormats()
  const { client, rights } = useSession()
  const { pollMs } = useLive()
  const filter = useUrlFilter()
  const input = {
    search: filter.get('search'),
    status: among(CHANNEL_STATUSES, filter.get('status')),
    contactId: filter.get('contact'),
    direction: among(DIRECTIONS, filter.get('direction')),
    category: filter.get('category'),
    page: filter.page,
    size: SIZE,
  }
  const query = useQuery({
    queryKey: ['platform', 'channels', input],
    queryFn: ({ signal }) => client.platform.searchChannels(given(input), { signal }),
    placeholderData: keepPreviousData,
    // Channels open and close by the hour; there is no event for that.
    refetchInterval: pollMs || 60_000,
  })
  return (
    <Stack gap="lg">
      <PageTitle text={words.channels.title}>
        <div className="spread" />
        {rights.may('createChannel') && (
          <Button component={Link} href="/channels/new" leftSection={<IconPlus size={16} aria-hidden />}>
            {words.newChannel.create}
          </Button>
        )}
      </PageTitle>
      <Filters filter={filter} status={input.status} direction={input.direction} />
      <PagedList
        query={query}
        found={(total) => words.channels.found(formats.number(total))}
        empty={
          <Empty
            title={filter.isEmpty ? words.channels.empty : words.channels.none}
            help={filter.isEmpty ? words.channels.emptyHelp : words.channels.noneHelp}
          />
        }
        go={filter.go}
      >
        {(channels) => <ChannelTable channels={channels} />}
      </PagedList>
    </Stack>
  )
}

type FilterProps = { filter: UrlFilter; status: ChannelStatusValue | undefined; direction: Way | undefined }

function Filters({ filter, status, direction }: FilterProps) {
  const words = useWords()
  const { client } = useSession()
  const box = useSearchBox(filter)
  const { data: choices } = useQuery({
    queryKey: ['filters'],
    queryFn: ({ signal }) => client.platform.channelFilters({}, { signal }),
    staleTime: 60_000,
  })
  const { any, anyFeminine } = words.channels
  return (
    <div className="filters">
      <TextInput
        label={words.channels.search}
        placeholder={words.channels.searchHint}
        leftSection={<IconSearch size={16} aria-hidden />}
        {...box}
      />
      <FilterSelect
        filter={filter}
        name="status"
        label={words.channels.status}
        value={status}
        choices={labelled(CHANNEL_STATUSES, words.channelStatus)}
        all={any}
      />
      <FilterSelect
        filter={filter}
        name="contact"
        label={words.channels.contact}
        value={filter.get('contact')}
        choices={(choices?.contacts ?? []).map(({ id, name }) => ({ value: id, label: name ?? id }))}
        all={any}
      />
      <FilterSelect
        filter={filter}
        name="direction"
        label={words.channels.direction}
        value={direction}
        choices={labelled(DIRECTIONS, words.direction)}
        all={any}
      />
      <FilterSelect
        filter={filter}
        name="category"
        label={words.channels.category}
        value={filter.get('category')}
        choices={(choices?.categories ?? []).map((category) => ({ value: category, label: category }))}
        all={anyFeminine}
      />
      {!filter.isEmpty && (
        <Button variant="subtle" onClick={filter.clear}>
          {words.channels.clear}
        </Button>
      )}
    </div>
  )
}

function ChannelTable({ channels }: { channels: readonly ChannelSummary[] }) {
  const words = useWords()
  return (
    <Table highlightOnHover className="cards-on-phone" aria-label={words.channels.title}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{words.channels.name}</Table.Th>
          <Table.Th>{words.channels.status}</Table.Th>
          <Table.Th>{words.channels.contact}</Table.Th>
          <Table.Th>{words.channels.direction}</Table.Th>
          <Table.Th>{words.channels.category}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {channels.map((channel) => (
          <Table.Tr key={channel.code}>
            <Table.Td>
              <Anchor component={Link} href={`/channels/${channel.code}`} fw={600} fz="sm" className="code">
                {channel.code}
              </Anchor>
              {channel.name && (
                <Text fz="xs" c="dimmed">
                  {channel.name}
                </Text>
              )}
            </Table.Td>
            <Table.Td>
              <ChannelBadge status={channel.status} />
            </Table.Td>
            <Table.Td>{channel.contactName ?? channel.contactId}</Table.Td>
            <Table.Td>
              <Direction way={channel.direction} />
            </Table.Td>
            <Table.Td>{channel.category ?? '—'}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
