// The audit trail: who did what, when, from where, with what was before and after. Searched in the address, taken out as a
// file, and checked.

import type { AuditEntry } from '../../../sdk/index.ts'
import { Anchor, Button, Group, Paper, Stack, Table, Text, TextInput } from '@mantine/core'
import { IconDownload, IconSearch, IconShieldCheck } from '@tabler/icons-react'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { Link } from 'wouter'
import { AUDIT_ACTIONS, AUDIT_OUTCOMES } from '../../../src/contract/audit.ts'
import { BASE_PATH } from '../../../src/contract/operations.ts'
import { platformOperations } from '../../../src/contract/platform.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { among, DayFilters, daysOf, FilterSelect, labelled } from '../parts/filter-controls.tsx'
import { Notice } from '../parts/notice.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { useSearchBox } from '../parts/search-box.ts'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { given, useUrlFilter } from '../parts/url-filter.ts'
import type { UrlFilter } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'

const SIZE = 50

export default function AuditPage() {
  const words = useWords()
  const filter = useUrlFilter()
  const { reversed, ...days } = daysOf(filter)
  const asked = given({
    search: filter.get('search'),
    user: filter.get('user'),
    channelCode: filter.get('channel'),
    action: among(AUDIT_ACTIONS, filter.get('action')),
    outcome: among(AUDIT_OUTCOMES, filter.get('outcome')),
    ...days,
  })
  const link = (format: string) =>
    `${BASE_PATH}${platformOperations.auditExport.path}?${new URLSearchParams({ ...asked, format })}`
  return (
    <Stack gap="lg">
      <PageTitle text={words.menu.audit} subtitle={words.audit.about}>
        <div className="spread" />
        {!reversed && (
          <div className="actions">
            {['jsonl', 'csv'].map((format) => (
              <Button
                key={format}
                component="a"
                href={link(format)}
                download
                variant="default"
                leftSection={<IconDownload size={16} aria-hidden />}
              >
                {words.audit.download(format === 'csv' ? 'CSV' : 'JSON')}
              </Button>
            ))}
          </div>
        )}
      </PageTitle>
      <Verification />
      <Filters filter={filter} />
      {!reversed && <Entries asked={asked} />}
    </Stack>
  )
}

function Verification() {
  const words = useWords()
  const formats = useFormats()
  const { client } = useSession()
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => client.platform.auditVerification({}, { timeoutMs: 600_000 }),
  })
  return (
    <div>
      <Button
        variant="default"
        loading={isPending}
        leftSection={<IconShieldCheck size={16} aria-hidden />}
        onClick={() => mutate()}
      >
        {words.audit.verify}
      </Button>
      {error && <Failed error={error} />}
      {data && (
        <Notice tone={data.whole ? 'good' : 'bad'} role="status" className="below">
          <Text fz="sm">
            {data.whole ? words.audit.whole(formats.number(data.entries)) : words.audit.broken}
          </Text>
          {data.findings.map((finding) => (
            <Text key={finding} fz="sm">
              {finding}
            </Text>
          ))}
        </Notice>
      )}
    </div>
  )
}

function Filters({ filter }: { filter: UrlFilter }) {
  const words = useWords()
  const search = useSearchBox(filter)
  const user = useSearchBox(filter, 'user')
  const channel = useSearchBox(filter, 'channel')
  return (
    <div className="filters">
      <TextInput
        label={words.channels.search}
        placeholder={words.audit.searchHint}
        leftSection={<IconSearch size={16} aria-hidden />}
        {...search}
      />
      <TextInput label={words.audit.who} {...user} />
      <TextInput label={words.audit.channel} {...channel} />
      <FilterSelect
        filter={filter}
        name="action"
        label={words.audit.action}
        value={among(AUDIT_ACTIONS, filter.get('action'))}
        choices={labelled(AUDIT_ACTIONS, words.audit.actions)}
        all={words.channels.anyFeminine}
      />
      <FilterSelect
        filter={filter}
        name="outcome"
        label={words.audit.outcome}
        value={among(AUDIT_OUTCOMES, filter.get('outcome'))}
        choices={labelled(AUDIT_OUTCOMES, words.audit.outcomes)}
        all={words.channels.any}
      />
      <DayFilters filter={filter} />
      {!filter.isEmpty && (
        <Button variant="subtle" onClick={filter.clear}>
          {words.channels.clear}
        </Button>
      )}
    </div>
  )
}

function Entries({ asked }: { asked: Record<string, string> }) {
  const words = useWords()
  const { client } = useSession()
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetching } = useInfiniteQuery({
    queryKey: ['audit', asked],
    queryFn: ({ pageParam, signal }) =>
      client.platform.auditTrail(
        { ...asked, size: SIZE, ...(pageParam && { before: pageParam }) },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  })
  if (!data) return error ? <Failed error={error} again={() => void refetch()} /> : <Loading />
  const entries = data.pages.flatMap(({ content }) => content)
  return (
    <Paper withBorder radius="md" p={{ base: 'sm', sm: 'lg' }}>
      {entries.length === 0 && !hasNextPage ? (
        <Empty title={words.admin.noMatch} />
      ) : (
        <Table className="cards-on-phone" aria-label={words.menu.audit}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.audit.when}</Table.Th>
              <Table.Th>{words.audit.who}</Table.Th>
              <Table.Th>{words.audit.action}</Table.Th>
              <Table.Th>{words.audit.what}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {entries.map((entry) => (
              <EntryRow key={entry.id} entry={entry} />
            ))}
          </Table.Tbody>
        </Table>
      )}
      {hasNextPage && (
        <Group justify="center" mt="md">
          <Button variant="default" loading={isFetching} onClick={() => void fetchNextPage()}>
            {words.audit.older}
          </Button>
        </Group>
      )}
    </Paper>
  )
}

function EntryRow({ entry }: { entry: AuditEntry }) {
  const words = useWords()
  const formats = useFormats()
  return (
    <Table.Tr>
      <Table.Td>
        <time dateTime={entry.at}>{formats.dateTime(entry.at)}</time>
      </Table.Td>
      <Table.Td>
        {entry.user ?? '—'}
        <Text fz="xs" c="dimmed">
          {[words.audit.vias[entry.via], entry.address].filter(Boolean).join(' · ')}
        </Text>
      </Table.Td>
      <Table.Td>
        {words.audit.actions[entry.action]}
        {entry.outcome === 'REFUSED' && (
          <span className="badge" data-tone="bad">
            {words.audit.outcomes.REFUSED}
          </span>
        )}
      </Table.Td>
      <Table.Td>
        <Subject entry={entry} />
        {entry.note && <Text fz="xs">{entry.note}</Text>}
        <Facts facts={entry.facts} />
        {entry.changes && (
          <ul className="changes">
            {entry.changes.map(({ field, before, after }) => (
              <li key={field}>
                <span className="code">{field}</span>: {said(before)} → {said(after)}
              </li>
            ))}
          </ul>
        )}
      </Table.Td>
    </Table.Tr>
  )
}

/** What else was noted, such as names of files or the settings at a start. */
function Facts({ facts }: { facts: unknown }) {
  const words = useWords()
  if (typeof facts !== 'object' || facts === null) return null
  return (
    <details className="more">
      <summary>{words.audit.more}</summary>
      <ul className="changes">
        {Object.entries(facts).map(([name, value]) => (
          <li key={name}>
            <span className="code">{name}</span>: {said(value)}
          </li>
        ))}
      </ul>
    </details>
  )
}

/** Channels and transfers lead to their pages; what else is concerned stands by its name, with its channel. */
function Subject({ entry: { subject, subjectKind, channelCode } }: { entry: AuditEntry }) {
  const words = useWords()
  if (channelCode === undefined) return subject ?? ''
  const ofTransfer = subjectKind === 'transfer' && subject !== undefined
  return (
    <>
      <Anchor component={Link} href={`/channels/${channelCode}`} fz="sm" className="code block-link">
        {channelCode}
      </Anchor>
      {ofTransfer ? (
        <Anchor
          component={Link}
          href={`/channels/${channelCode}/transfers/${subject}`}
          fz="xs"
          className="block-link"
        >
          {words.transfer.open}
        </Anchor>
      ) : (
        subject !== undefined && subject !== channelCode && <Text fz="xs">{subject}</Text>
      )}
    </>
  )
}

function said(value: unknown): string {
  if (value === undefined) return '—'
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ') || '—'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
