// A channel in short: what to do about its status, what is under way, why the last transfer failed.

import type { Channel, ChannelSetup, Transfer } from '../../../sdk/index.ts'
import { Anchor, Paper, SimpleGrid, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { ChannelStatusValue } from '../../../src/contract/channel.ts'
import type { Words } from '../i18n/en.ts'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Direction } from '../parts/direction.tsx'
import { Facts } from '../parts/facts.tsx'
import { Notice } from '../parts/notice.tsx'
import { Panel } from '../parts/panel.tsx'
import { TransferProgress } from '../parts/progress-bar.tsx'
import { Reason } from '../parts/reason.tsx'
import { CHANNEL_LOOKS, TransferBadge } from '../parts/status-badge.tsx'
import type { Rights } from '../session/rights.ts'
import { useSession } from '../session/session.tsx'
import { PauseNotice, WaitingText } from '../parts/waiting.tsx'
import { useChannelSetup, useLastTransfers, useTransferFacts } from './queries.ts'
import { TransferTable } from './transfer-table.tsx'
import { maySend } from './ways.ts'

type Props = { code: string; status: ChannelStatusValue; channel: Channel }

export function SummaryTab({ code, status, channel }: Props) {
  const words = useWords()
  const { data } = useLastTransfers(code)
  const { data: setup } = useChannelSetup(code)
  const transfers = data?.content ?? []
  const active = transfers.filter((one) => one.status === 'PENDING' || one.status === 'IN_PROGRESS')
  const failed = status === 'ERROR' ? transfers.find((one) => one.status === 'FAILED') : undefined
  const { tone, icon: Icon } = CHANNEL_LOOKS[status]
  const hours = channel.connection?.advancedConfigurationConnection
  const {
    rights,
    user: { timeZone },
  } = useSession()
  const inZone = (hour: string | undefined) => hour && `${hour} (${timeZone})`
  return (
    <Stack gap="lg">
      <Notice
        tone={tone}
        icon={<Icon size={20} aria-hidden />}
        title={words.channel.whatNow}
        className="advice"
      >
        <Text fz="sm">
          {status === 'IDLE' && !maySend(channel)
            ? words.channel.receiveOnly
            : adviceIn(words, status, rights)}
        </Text>
        {failed && <LastFailure code={code} transfer={failed} />}
      </Notice>
      {setup?.automaticPause && <PauseNotice code={code} pause={setup.automaticPause} />}
      {active.length > 0 && (
        <Panel title={words.channel.current}>
          <Stack>
            {active.map((transfer) => (
              <ActiveTransfer key={transfer.transferId} code={code} transfer={transfer} />
            ))}
          </Stack>
        </Panel>
      )}
      <Paper withBorder radius="md" p="lg">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl" verticalSpacing={8}>
          <Facts
            facts={[
              [words.channel.local, channel.localEntity],
              [words.channel.remote, channel.remoteEntity],
              [words.channels.direction, <Direction key="way" way={channel.direction} />],
              [words.admin.fields.protocol, setup && words.admin.values[setup.protocol]],
              [words.newChannel.automation, setup && automationIn(words, setup)],
            ]}
          />
          <Facts
            facts={[
              [words.channels.category, channel.category],
              [words.contacts.addresses, channel.connection?.ips?.join(', ')],
              [words.channel.from, inZone(hours?.initialHour)],
              [words.channel.to, inZone(hours?.finishHour)],
            ]}
          />
        </SimpleGrid>
      </Paper>
      {transfers.length > 0 && (
        <Panel
          title={words.channel.transfers}
          action={
            <Anchor component={Link} href={`/channels/${code}/transfers`} fz="sm">
              {words.channels.anyFeminine}
            </Anchor>
          }
        >
          <TransferTable code={code} transfers={transfers.slice(0, 5)} />
        </Panel>
      )}
    </Stack>
  )
}

/** What the user may do about it; to others it says who may. */
function adviceIn(words: Words, status: ChannelStatusValue, { may }: Rights): string {
  const { statusAdvice, statusAdviceToReaders: toReaders } = words
  if (status === 'ERROR' && !may('retryTransfer')) return toReaders.ERROR
  if (status === 'INACTIVE' && !may('updateChannel')) return toReaders.INACTIVE
  if (status === 'IN_PROGRESS' && !may('listTransfers')) return toReaders.IN_PROGRESS
  return statusAdvice[status]
}

function automationIn(words: Words, { automation }: ChannelSetup): string {
  const { watch, every, cron, calendar } = automation ?? {}
  const { automations } = words.newChannel
  const what = watch ? automations.watch : every ? `${automations.every}: ${every}` : undefined
  return [what ?? (cron ? `${automations.cron}: ${cron}` : automations['']), calendar]
    .filter(Boolean)
    .join(' · ')
}

function LastFailure({ code, transfer }: { code: string; transfer: Transfer }) {
  const words = useWords()
  const { data } = useTransferFacts(code, transfer.transferId)
  return (
    <div className="last-failure">
      <Text fz="sm" fw={600}>
        {words.channel.lastFailure}
      </Text>
      <Reason code={data?.errorCode} text={transfer.error} />
      {data?.retry && data.retry !== 'POSSIBLE' && <Text fz="sm">{words.retry[data.retry]}</Text>}
      <Anchor component={Link} href={`/channels/${code}/transfers/${transfer.transferId}`} fz="sm">
        {words.transfer.open}
      </Anchor>
    </div>
  )
}

function ActiveTransfer({ code, transfer }: { code: string; transfer: Transfer }) {
  const words = useWords()
  const formats = useFormats()
  const files = transfer.files ?? []
  const { transferStartDateTime: started } = transfer
  const { data: facts } = useTransferFacts(code, transfer.transferId)
  return (
    <div>
      <div className="row-head">
        <Anchor component={Link} href={`/channels/${code}/transfers/${transfer.transferId}`} fz="sm" fw={600}>
          <Direction way={transfer.direction} />
        </Anchor>
        <Text fz="sm" c="dimmed">
          {started ? formats.relative(started) : ''}
        </Text>
        <TransferBadge status={transfer.status ?? 'PENDING'} />
      </div>
      {facts?.waiting && (
        <Text fz="xs" c="dimmed" mb={6} component="div">
          <WaitingText waiting={facts.waiting} />
        </Text>
      )}
      <TransferProgress
        transferId={transfer.transferId ?? ''}
        status={transfer.status ?? 'PENDING'}
        bytes={0}
        totalBytes={files.reduce((sum, file) => sum + Number(file.size ?? 0), 0)}
        files={0}
        totalFiles={files.length}
        label={words.transfer.progress}
      />
    </div>
  )
}
