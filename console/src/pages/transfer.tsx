// One transfer: how far it is, its files, what went wrong and where files went afterwards.

import type { Transfer, TransferFacts } from '../../../sdk/index.ts'
import { Anchor, Code, Paper, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { ActionButton } from '../channel/actions.tsx'
import { TransferAction } from '../channel/transfer-actions.tsx'
import { TransferFiles } from '../channel/transfer-files.tsx'
import { useFormats, useWords } from '../i18n/language.tsx'
import { useLive } from '../live/live.tsx'
import { Direction } from '../parts/direction.tsx'
import { Facts } from '../parts/facts.tsx'
import { Notice } from '../parts/notice.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Panel } from '../parts/panel.tsx'
import { TransferProgress } from '../parts/progress-bar.tsx'
import { Reason } from '../parts/reason.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { TransferBadge } from '../parts/status-badge.tsx'
import { WaitingText } from '../parts/waiting.tsx'
import { useSession } from '../session/session.tsx'
import { PHASES_AFTER_ARRIVAL } from '../../../src/contract/platform.ts'
import { isOver } from '../../../src/domain/transfer.ts'

export default function TransferPage({ code, id }: { code: string; id: string }) {
  const words = useWords()
  const { client } = useSession()
  const { pollMs } = useLive()
  const { data, error, refetch } = useQuery({
    queryKey: ['channel', code, 'transfer', id],
    queryFn: async ({ signal }) => {
      const input = { channelCode: code, transferId: id }
      const [transfer, facts] = await Promise.all([
        client.transferDetail(input, { signal }),
        client.platform.transferFacts(input, { signal }),
      ])
      return { transfer, facts }
    },
    refetchInterval: pollMs,
  })
  if (error && !data) return <Failed error={error} ofChannel again={() => void refetch()} />
  if (!data) return <Loading />
  const { transfer, facts } = data
  const status = transfer.status ?? 'PENDING'
  const sums = {
    bytes: facts.files.reduce((sum, file) => sum + carried(file, isOver(status)), 0),
    totalBytes: facts.files.reduce((sum, file) => sum + (file.size ?? 0), 0),
    files: facts.files.filter((file) => PHASES_AFTER_ARRIVAL.has(file.phase)).length,
    totalFiles: facts.files.length,
  }
  return (
    <Stack gap="lg">
      <PageTitle text={words.transfer.title} badge={<TransferBadge status={status} />}>
        <div className="spread" />
        <div className="actions">
          {facts.retry === 'POSSIBLE' && <ActionButton action="retry" code={code} primary />}
          {(status === 'PENDING' || status === 'IN_PROGRESS') && (
            <TransferAction action="cancel" code={code} id={id} />
          )}
          {status === 'COMPLETED' && transfer.direction === 'EMISION' && (
            <TransferAction action="resend" code={code} id={id} />
          )}
        </div>
      </PageTitle>
      <Text fz="sm" mt="-sm">
        <Anchor component={Link} href={`/channels/${code}`} className="code" fw={600}>
          {code}
        </Anchor>
      </Text>
      {status === 'FAILED' && (
        <Notice tone="bad" title={words.transfer.why}>
          <Reason code={facts.errorCode} text={transfer.error} />
          {facts.retry && facts.retry !== 'POSSIBLE' && (
            <Text fz="sm" mt="xs">
              {words.retry[facts.retry]}
            </Text>
          )}
        </Notice>
      )}
      <Paper withBorder radius="md" p="lg">
        <TransferProgress transferId={id} status={status} {...sums} label={words.transfer.progress} />
        <TransferSummary code={code} transfer={transfer} facts={facts} />
      </Paper>
      <TransferFiles transfer={transfer} facts={facts} />
      {facts.output && (
        <Panel title={words.transfer.output}>
          <Code block tabIndex={0}>
            {facts.output}
          </Code>
        </Panel>
      )}
    </Stack>
  )
}

/** Of a transfer that is over, half a file counts for nothing: it was not delivered. */
function carried({ phase, position, size = 0 }: TransferFacts['files'][number], over: boolean): number {
  if (PHASES_AFTER_ARRIVAL.has(phase)) return size
  return over ? 0 : position
}

function TransferSummary({
  code,
  transfer,
  facts,
}: {
  code: string
  transfer: Transfer
  facts: TransferFacts
}) {
  const words = useWords()
  const formats = useFormats()
  const { transferStartDateTime: started, transferEndDateTime: ended } = transfer
  const duration = started && ended ? Date.parse(ended) - Date.parse(started) : undefined
  const bytes = facts.files.reduce((sum, file) => sum + (file.size ?? 0), 0)
  const link = (id: string | undefined, text: string) =>
    id && (
      <Anchor component={Link} href={`/channels/${code}/transfers/${id}`} fz="sm">
        {text}
      </Anchor>
    )
  const rate =
    duration && transfer.status === 'COMPLETED' ? formats.rate((bytes * 1000) / duration) : undefined
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl" verticalSpacing={8} mt="lg">
      <Facts
        facts={[
          [words.channels.direction, <Direction key="way" way={transfer.direction} />],
          [words.transfer.kind, transfer.type && words.transferType[transfer.type]],
          [words.transfer.asked, formats.dateTime(facts.requestedAt)],
          [words.transfer.by, facts.requestedBy],
          [words.transfer.encrypted, transfer.encryption ? words.app.yes : words.app.no],
        ]}
      />
      <Facts
        facts={[
          [words.transfer.started, started && formats.dateTime(started)],
          [words.transfer.ended, ended && formats.dateTime(ended)],
          [words.transfer.duration, duration !== undefined && formats.duration(duration)],
          [words.transfer.rate, rate],
          [words.transfer.attempts, formats.number(facts.attempts)],
          [words.waiting.label, facts.waiting && <WaitingText key="waits" waiting={facts.waiting} />],
          [words.transfer.retryOf, link(facts.retryOf, words.transfer.earlier)],
          [words.transfer.retriedBy, link(facts.retriedBy, words.transfer.later)],
          [words.transferActions.resendOf, link(facts.resendOf, words.transferActions.original)],
          [words.transferActions.why, facts.comment],
        ]}
      />
    </SimpleGrid>
  )
}
