// One channel: its status and what to do about it, its transfers, its history and its configuration.

import { Stack, Tabs } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { useLocation } from 'wouter'
import { ActionButton } from '../channel/actions.tsx'
import { ChannelMenu } from '../channel/channel-menu.tsx'
import { HistoryTab } from '../channel/history-tab.tsx'
import { useChannelStatus, useConfiguration } from '../channel/queries.ts'
import { SummaryTab } from '../channel/summary-tab.tsx'
import { UploadButton } from '../channel/upload.tsx'
import { mayFetch, maySend } from '../channel/ways.ts'
import { TransfersTab } from '../channel/transfers-tab.tsx'
import { useWords } from '../i18n/language.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Failed, Loading, NotForYou, NotFound } from '../parts/states.tsx'
import { ChannelBadge } from '../parts/status-badge.tsx'
import { useSession } from '../session/session.tsx'

const ConfigurationTab = lazy(() => import('../form/configuration-tab.tsx'))

const TABS = ['summary', 'transfers', 'history', 'configuration'] as const
type Tab = (typeof TABS)[number]

export default function ChannelPage({ code, tab }: { code: string; tab: string }) {
  const words = useWords()
  const { rights } = useSession()
  const [, navigate] = useLocation()
  const status = useChannelStatus(code)
  const configuration = useConfiguration(code)
  const current = TABS.find((one) => one === tab)
  const error = status.error ?? configuration.error
  if (error && !(status.data && configuration.data))
    return (
      <Failed
        error={error}
        ofChannel
        again={() => void Promise.all([status.refetch(), configuration.refetch()])}
      />
    )
  if (!status.data || !configuration.data) return <Loading />
  if (!current) return <NotFound />
  if (current === 'transfers' && !rights.may('listTransfers')) return <NotForYou />
  const channel = configuration.data
  const value = status.data['channel-status'] ?? 'IDLE'
  const shown = TABS.filter((one) => one !== 'transfers' || rights.may('listTransfers'))
  const go = (wanted: string | null) =>
    navigate(wanted === 'summary' ? `/channels/${code}` : `/channels/${code}/${wanted}`)
  return (
    <Stack gap="lg">
      <PageTitle text={code} badge={<ChannelBadge status={value} />} subtitle={channel.name}>
        <div className="spread" />
        <div className="actions">
          {maySend(channel) && (
            <>
              <ActionButton action="send" code={code} primary={value !== 'ERROR'} />
              {channel.keyExchangeChannel !== true && <UploadButton code={code} />}
            </>
          )}
          {mayFetch(channel) && <ActionButton action="fetch" code={code} />}
          {value === 'ERROR' && <ActionButton action="retry" code={code} primary />}
          {(value === 'ERROR' || value === 'IN_PROGRESS' || value === 'PENDING') && (
            <ActionButton action="reset" code={code} />
          )}
          <ChannelMenu code={code} />
        </div>
      </PageTitle>
      <Tabs value={current} onChange={go} keepMounted={false}>
        <Tabs.List aria-label={words.channel.tabs} mb="lg">
          {shown.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {words.channel[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={current}>
          <Suspense fallback={<Loading />}>
            <TabContent tab={current} code={code} status={value} channel={channel} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
    </Stack>
  )
}

type ContentProps = Parameters<typeof SummaryTab>[0] & { tab: Tab }

function TabContent({ tab, ...rest }: ContentProps) {
  if (tab === 'summary') return <SummaryTab {...rest} />
  if (tab === 'transfers') return <TransfersTab code={rest.code} />
  if (tab === 'history') return <HistoryTab code={rest.code} />
  return <ConfigurationTab code={rest.code} channel={rest.channel} />
}
