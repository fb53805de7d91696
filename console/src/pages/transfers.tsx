// Transfers of all channels that the user may reach: searched, sorted and paged by the node, and taken out as CSV. The
// search stands in the address.

import type { TransferSummary } from '../../../sdk/index.ts'
import { Anchor, Button, NativeSelect, Paper, Stack, Table, Text, TextInput } from '@mantine/core'
import { IconDownload, IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { BASE_PATH } from '../../../src/contract/operations.ts'
import { platformOperations } from '../../../src/contract/platform.ts'
import { TRANSFER_DIRECTIONS, TRANSFER_STATUSES, TRANSFER_TYPES } from '../../../src/contract/transfer.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useLive } from '../live/live.tsx'
import { Direction } from '../parts/direction.tsx'
import { among, DayFilters, daysOf, FilterSelect, labelled } from '../parts/filter-controls.tsx'
import { Notice } from '../parts/notice.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Pager } from '../parts/pager.tsx'
import { Reason } from '../parts/reason.tsx'
import { useSearchBox } from '../parts/search-box.ts'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { TransferBadge } from '../parts/status-badge.tsx'
import { given, useUrlFilter } from '../parts/url-filter.ts'
import type { UrlFilter } from '../parts/url-filter.ts'
import { WaitingText } from '../parts/waiting.tsx'
import { useSession } from '../session/session.tsx'

const SIZE = 25
const SORTS = ['NEWEST', 'OLDEST'] as const
const HASH = /^(sha256:)?[0-9a-f]{64}$/i

export default function TransfersPage() {
  const words = useWords()
  const filter = useUrlFilter()
  const asked = askedOf(filter)
  return (
    <Stack gap="lg">
      <PageTitle text={words.transfers.title}>
        <div className="spread" />
        {asked && (
          <Button
            component="a"
            href={exportLink(asked)}
            download
            variant="default"
            leftSection={<IconDownload size={16} aria-hidden />}
          >
            {words.transfers.csv}
          </Button>
        )}
      </PageTitle>
      <Filters filter={filter} />
      {asked && <Found filter={filter} asked={asked} />}
    </Stack>
  )
}

type Asked = NonNullable<ReturnType<typeof askedOf>>

/** What the address asks for; undefined while it cannot be asked so. */
function askedOf(filter: UrlFilter) {
  const { reversed, ...days } = daysOf(filter)
  const hash = filter.get('hash')
  if (reversed || (hash !== undefined && !HASH.test(hash))) return undefined
  return given({
    fileName: filter.get('file'),
    channels: filter.get('search'),
    contactId: filter.get('contact'),
    status: among(TRANSFER_STATUSES, filter.get('status')),
    direction: among(TRANSFER_DIRECTIONS, filter.get('direction')),
    type: among(TRANSFER_TYPES, filter.get('type')),
    hash,
    sort: among(SORTS, filter.get('sort')),
    ...days,
  })
}

/** The browser itself keeps the file: its session's cookie goes with the request. */
function exportLink(asked: Asked): string {
  const query = new URLSearchParams(asked)
  return `${BASE_PATH}${platformOperations.exportTransfers.path}?${query}`
}

function Filters({ filter }: { filter: UrlFilter }) {
  const words = useWords()
  const { client } = useSession()
  const file = useSearchBox(filter, 'file')
  const channels = useSearchBox(filter, 'search')
  const hash = useSearchBox(filter, 'hash')
  const { data: choices } = useQuery({
    queryKey: ['filters'],
    queryFn: ({ signal }) => client.platform.channelFilters({}, { signal }),
    staleTime: 60_000,
  })
  const { any } = words.channels
  return (
    <div className="filters">
      <TextInput
        label={words.transfers.fileName}
        placeholder={words.transfers.fileNameHint}
        leftSection={<IconSearch size={16} aria-hidden />}
        {...file}
      />
      <TextInput label={words.transfers.channels} placeholder={words.transfers.channelsHint} {...channels} />
      <FilterSelect
        filter={filter}
        name="contact"
        label={words.transfers.partner}
        value={filter.get('contact')}
        choices={(choices?.contacts ?? []).map(({ id, name }) => ({ value: id, label: name ?? id }))}
        all={any}
      />
      <FilterSelect
        filter={filter}
        name="status"
        label={words.transfers.status}
        value={among(TRANSFER_STATUSES, filter.get('status'))}
        choices={labelled(TRANSFER_STATUSES, words.transferStatus)}
        all={any}
      />
      <FilterSelect
        filter={filter}
        name="direction"
        label={words.transfers.direction}
        value={among(TRANSFER_DIRECTIONS, filter.get('direction'))}
        choices={labelled(TRANSFER_DIRECTIONS, words.direction)}
        all={any}
      />
      <FilterSelect
        filter={filter}
        name="type"
        label={words.transfers.type}
        value={among(TRANSFER_TYPES, filter.get('type'))}
        choices={labelled(TRANSFER_TYPES, words.transferType)}
        all={any}
      />
      <DayFilters filter={filter} />
      <TextInput
        label={words.transfers.hash}
        placeholder={words.transfers.hashHint}
        error={hash.value !== '' && !HASH.test(hash.value.trim()) && words.transfers.hashFault}
        {...hash}
      />
      <NativeSelect
        label={words.transfers.sort}
        value={among(SORTS, filter.get('sort')) ?? 'NEWEST'}
        onChange={(event) =>
          filter.set({ sort: event.currentTarget.value === 'OLDEST' ? 'OLDEST' : undefined })
        }
        data={labelled(SORTS, words.transfers.sorts)}
      />
      {!filter.isEmpty && (
        <Button variant="subtle" onClick={filter.clear}>
          {words.channels.clear}
        </Button>
      )}
    </div>
  )
}

function Found({ filter, asked }: { filter: UrlFilter; asked: Asked }) {
  const words = useWords()
  const formats = useFormats()
  const { client } = useSession()
  const { pollMs } = useLive()
  const input = { ...asked, page: filter.page, size: SIZE }
  const { data, error, refetch } = useQuery({
    queryKey: ['platform', 'transfers', input],
    queryFn: ({ signal }) => client.platform.searchTransfers(input, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  })
  if (!data) return error ? <Failed error={error} again={() => void refetch()} /> : <Loading />
  return (
    <Paper withBorder radius="md" p={{ base: 'sm', sm: 'lg' }}>
      <Text fz="sm" c="dimmed" mb="sm" role="status">
        {words.transfers.found(formats.number(data.counted), data.more)}
      </Text>
      {data.stoppedAt && (
        <Notice tone="waiting">{words.transfers.stopped(formats.dateTime(data.stoppedAt))}</Notice>
      )}
      {data.counted > 0 ? (
        <TransferRows transfers={data.content} />
      ) : (
        <Empty
          title={filter.isEmpty ? words.transfers.empty : words.transfers.none}
          help={filter.isEmpty ? words.transfers.emptyHelp : words.transfers.noneHelp}
        />
      )}
      <Pager page={data.number} pages={Math.ceil(data.counted / data.size)} more={data.more} go={filter.go} />
    </Paper>
  )
}

function TransferRows({ transfers }: { transfers: readonly TransferSummary[] }) {
  const words = useWords()
  const formats = useFormats()
  return (
    <Table highlightOnHover className="cards-on-phone" aria-label={words.transfers.title}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{words.transfers.files}</Table.Th>
          <Table.Th>{words.transfers.status}</Table.Th>
          <Table.Th>{words.transfers.channels}</Table.Th>
          <Table.Th>{words.transfers.direction}</Table.Th>
          <Table.Th>{words.transfers.when}</Table.Th>
          <Table.Th>{words.transfers.size}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {transfers.map((one) => (
          <Table.Tr key={one.transferId}>
            <Table.Td>
              <Anchor
                component={Link}
                href={`/channels/${one.channelCode}/transfers/${one.transferId}`}
                fz="sm"
                fw={600}
                className="words"
              >
                {one.fileNames.join(', ') || words.transfer.open}
              </Anchor>
              {one.files > one.fileNames.length && (
                <Text fz="xs" c="dimmed">
                  {words.transfers.moreFiles(formats.number(one.files - one.fileNames.length))}
                </Text>
              )}
              {one.status === 'FAILED' && <Reason code={one.errorCode} text={one.error} />}
            </Table.Td>
            <Table.Td>
              <TransferBadge status={one.status} />
              {one.waiting && (
                <Text fz="xs" c="dimmed" component="div">
                  <WaitingText waiting={one.waiting} />
                </Text>
              )}
            </Table.Td>
            <Table.Td>
              <Anchor component={Link} href={`/channels/${one.channelCode}`} fz="sm" className="code words">
                {one.channelCode}
              </Anchor>
              <Text fz="xs" c="dimmed" className="words">
                {one.contactName ?? one.contactId}
              </Text>
            </Table.Td>
            <Table.Td>
              <Direction way={one.direction} />
            </Table.Td>
            <Table.Td>
              <Text fz="sm" component="time" dateTime={one.startedAt ?? one.requestedAt}>
                {formats.moment(one.startedAt ?? one.requestedAt)}
              </Text>
              <Text fz="xs" c="dimmed">
                {words.transferType[one.type]}
                {one.requestedBy && ` ${words.transfers.by(one.requestedBy)}`}
              </Text>
            </Table.Td>
            <Table.Td className="unbroken">{formats.size(one.bytes)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
