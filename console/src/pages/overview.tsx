// The platform at a glance: what is moving, what is stuck, what failed, which partners cannot be reached.

import type { Overview } from '../../../sdk/index.ts'
import { Anchor, SimpleGrid, Stack, Text } from '@mantine/core'
import { IconCircleCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { CHANNEL_STATUSES } from '../../../src/contract/channel.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useLive } from '../live/live.tsx'
import { Direction } from '../parts/direction.tsx'
import { FailureList } from '../parts/failure-list.tsx'
import { HoursChart } from '../parts/hours-chart.tsx'
import { Notice } from '../parts/notice.tsx'
import { ExpectedToday, SubscriptionsOff } from '../parts/expected-today.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Panel } from '../parts/panel.tsx'
import { TransferProgress } from '../parts/progress-bar.tsx'
import { FirstSteps } from '../parts/first-steps.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { CHANNEL_LOOKS, TransferBadge } from '../parts/status-badge.tsx'
import { Pauses, WaitingText } from '../parts/waiting.tsx'
import { useSession } from '../session/session.tsx'

export default function OverviewPage() {
  const words = useWords()
  const { client } = useSession()
  const { pollMs } = useLive()
  const { data, error, refetch } = useQuery({
    queryKey: ['platform', 'overview'],
    queryFn: ({ signal }) => client.platform.overview({}, { signal }),
    // The chart and the partners' health change without an event.
    refetchInterval: pollMs || 30_000,
  })
  if (error && !data) return <Failed error={error} again={() => void refetch()} />
  if (!data) return <Loading />
  const partners = data.partners && (
    <Partners partners={data.partners} total={data.partnersTotal ?? data.partners.length} />
  )
  // Partners that are down come first: they explain the failures.
  const isSomeoneDown = (data.partners?.length ?? 0) > 0
  return (
    <Stack gap="lg">
      <PageTitle text={words.overview.title} />
      {data.channels.total === 0 && <FirstSteps />}
      <StatusTiles channels={data.channels} />
      {!data.active && <Notice tone="moving">{words.overview.noTransfers}</Notice>}
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
        {data.active && <UnderWay active={data.active} />}
        {data.hours && <HoursChart hours={data.hours} />}
      </SimpleGrid>
      {data.expectations && <ExpectedToday expectations={data.expectations} />}
      {data.subscriptionsOff && <SubscriptionsOff subscriptions={data.subscriptionsOff} />}
      {data.pauses && <Pauses pauses={data.pauses} />}
      {isSomeoneDown && partners}
      {data.failures && <Failures failures={data.failures} />}
      {!isSomeoneDown && partners}
    </Stack>
  )
}

function StatusTiles({ channels }: { channels: Overview['channels'] }) {
  const words = useWords()
  const formats = useFormats()
  return (
    <section aria-label={words.overview.channels} className="tiles">
      {CHANNEL_STATUSES.toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)).map((status) => {
        const { tone, icon: Icon } = CHANNEL_LOOKS[status]
        const count = channels.byStatus[status]
        return (
          <Link
            key={status}
            href={`/channels?status=${status}`}
            className="tile"
            data-tone={count > 0 ? tone : 'none'}
          >
            <span className="tile-icon">
              <Icon size={20} stroke={1.8} aria-hidden />
            </span>
            <span className="tile-count">{formats.number(count)}</span>
            <span className="tile-label">{words.channelStatus[status]}</span>
          </Link>
        )
      })}
    </section>
  )
}

const ORDER = ['ERROR', 'IN_PROGRESS', 'PENDING', 'IDLE', 'CLOSED', 'INACTIVE']

function UnderWay({ active }: { active: NonNullable<Overview['active']> }) {
  const words = useWords()
  const formats = useFormats()
  const note = words.overview.movingCount(formats.number(active.inProgress), formats.number(active.pending))
  return (
    <Panel title={words.overview.moving} note={note}>
      {active.transfers.length === 0 ? (
        <Empty title={words.overview.nothingMoves} help={words.overview.nothingMovesHelp} />
      ) : (
        <ul className="plain-list scroll-list" tabIndex={0} aria-label={words.overview.moving}>
          {active.transfers.map((transfer) => (
            <li key={transfer.transferId}>
              <div className="row-head">
                <Anchor
                  component={Link}
                  href={`/channels/${transfer.channelCode}/transfers/${transfer.transferId}`}
                  fw={600}
                  fz="sm"
                  className="code"
                >
                  {transfer.channelCode}
                </Anchor>
                <TransferBadge status={transfer.status} />
              </div>
              <Text fz="xs" c="dimmed" mb={6} component="div" className="inline-facts">
                <Direction way={transfer.direction} />
                {transfer.channelName && <span>{transfer.channelName}</span>}
                <span>{formats.relative(transfer.startedAt ?? transfer.requestedAt)}</span>
                {transfer.waiting && <WaitingText waiting={transfer.waiting} />}
              </Text>
              <TransferProgress {...transfer} label={`${words.transfer.progress}: ${transfer.channelCode}`} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Failures({ failures }: { failures: NonNullable<Overview['failures']> }) {
  const words = useWords()
  const formats = useFormats()
  const all = (
    <Anchor component={Link} href="/failures" fz="sm">
      {words.overview.allFailures}
    </Anchor>
  )
  return (
    <Panel
      title={words.overview.failures}
      note={formats.number(failures.total)}
      action={failures.total > 0 ? all : undefined}
    >
      {failures.total === 0 ? (
        <Empty
          icon={<IconCircleCheck size={28} stroke={1.5} />}
          title={words.overview.noFailures}
          help={words.overview.noFailuresHelp}
        />
      ) : (
        <FailureList failures={failures.transfers} />
      )}
    </Panel>
  )
}

function Partners({ partners, total }: { partners: NonNullable<Overview['partners']>; total: number }) {
  const words = useWords()
  const formats = useFormats()
  const [shown, all] = [formats.number(partners.length), formats.number(total)]
  return (
    <Panel
      title={words.overview.partners}
      note={partners.length < total ? words.overview.firstOf(shown, all) : all}
    >
      {partners.length === 0 ? (
        <Empty icon={<IconCircleCheck size={28} stroke={1.5} />} title={words.overview.allReachable} />
      ) : (
        <ul className="plain-list">
          {partners.map((partner) => (
            <li key={partner.contactId}>
              <div className="row-head">
                <Anchor
                  component={Link}
                  href={`/contacts?contact=${encodeURIComponent(partner.contactId)}`}
                  fw={600}
                  fz="sm"
                >
                  {partner.name ?? partner.contactId}
                </Anchor>
                <Text fz="sm" c="dimmed">
                  {words.overview.partnerFailures(formats.number(partner.failures))}
                  {partner.nextCallAt &&
                    Date.parse(partner.nextCallAt) > Date.now() &&
                    ` · ${words.overview.nextCall(formats.relative(partner.nextCallAt))}`}
                </Text>
              </div>
              {partner.error && (
                <Text fz="xs" c="dimmed" className="words">
                  {partner.error}
                </Text>
              )}
              <Text fz="xs" c="dimmed">
                {words.overview.partnerChannels(formats.number(partner.channels))}
              </Text>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
